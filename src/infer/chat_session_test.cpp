#include <gmock/gmock.h>

#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "infer/text_generator.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "runtime/interpreter_runtime.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kTemplate =
    "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};\n{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}";

// A model of bytes that answers "ok;x".
LoadedModel says_ok() {
  TinyModel tiny = chain_model({{':', 'o'}, {'o', 'k'}, {'k', ';'}, {';', 'x'}}, 260);
  return {.config = {},
          .model = std::move(tiny.model),
          .parameters = std::move(tiny.parameters),
          .tokenizer_config = {},
          .tokenizer = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {}),
          .context_len = 64};
}

TEST(ChatSession, AnswersEndAtTheMarkOfTheTemplate) {
  InterpreterRuntime runtime(1);
  TextGenerator generator(says_ok(), runtime);
  ChatSession session(generator, ChatTemplate(kTemplate, "chat"), "be kind");
  std::vector<std::string> pieces;
  const auto keep = [&](std::string_view piece) { pieces.emplace_back(piece); };
  const GeneratedText first = session.answer("hi", {}, keep);
  EXPECT_EQ(first.prompt, "s:be kind;\nu:hi;\na:");
  EXPECT_EQ(first.text, "ok");
  EXPECT_EQ(first.row.stop, StopReason::kEndText);
  EXPECT_THAT(pieces, ElementsAre("o", "k"));
  // The next prompt holds the first answer.
  EXPECT_EQ(session.answer("so", {}).prompt, "s:be kind;\nu:hi;\na:ok;\nu:so;\na:");
}

TEST(ChatSession, ATemplateThatLeavesOutAMessageIsRefused) {
  InterpreterRuntime runtime(1);
  TextGenerator generator(says_ok(), runtime);
  const std::string no_system =
      "{% for m in messages %}{% if m.role != 'system' %}{{ m.content }};{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}a:{% endif %}";
  // The question has the same words.
  ChatSession session(generator, ChatTemplate(no_system, "chat"), "be kind");
  EXPECT_EQ(error_of<ConfigError>([&] { session.answer("be kind", {}); }),
            "--system: expected a chat template that writes it, got one that leaves it out (chat); "
            "name another by --chat-template");
  ChatSession text(generator, ChatTemplate("a:", "notes.txt"));
  EXPECT_EQ(error_of<ConfigError>([&] { text.answer("hi", {}); }),
            "notes.txt: expected a chat template that writes the user's message, got one that "
            "leaves it out; name another by --chat-template");
  EXPECT_EQ(ChatSession(generator, ChatTemplate(no_system, "chat")).answer("hi", {}).text, "ok");
}

TEST(ChatSession, ARefusedMessageLeavesTheConversationAsItWas) {
  InterpreterRuntime runtime(1);
  TextGenerator generator(says_ok(), runtime);
  ChatSession session(generator, ChatTemplate(kTemplate, "chat"));
  EXPECT_THAT(error_of([&] { session.answer("\xff", {}); }), HasSubstr("expected UTF-8"));
  EXPECT_THAT(error_of([&] { session.answer(std::string(80, 'x'), {}); }),
              HasSubstr("context of 64"));
  EXPECT_EQ(session.answer("hi", {}).prompt, "u:hi;\na:");
}

TEST(ChatSession, TemplateComesFromTheRunOrTheTokenizer) {
  TempDir dir;
  LoadedModel loaded = says_ok();
  EXPECT_THAT(error_of<ConfigError>([&] { chat_template_of(loaded, {}); }),
              HasSubstr("--chat: expected a model with a chat template, got one without"));
  loaded.input = {{"class", "ChatInput"}};
  EXPECT_EQ(chat_template_of(loaded, {}).name(), "the plain template");
  replace_file(dir / "run.jinja", "{{ messages }}");
  loaded.input["chat_template"] = dir / "run.jinja";
  EXPECT_EQ(chat_template_of(loaded, {}).name(), dir / "run.jinja");
  replace_file(dir / "flag.jinja", "{{ messages }}");
  EXPECT_EQ(chat_template_of(loaded, dir / "flag.jinja").name(), dir / "flag.jinja");
  // Beside the tokenizer.
  std::filesystem::copy(reference_file("tokenizers/smollm.json"), dir.path() / "tokenizer.json");
  replace_file(
      dir / "tokenizer_config.json",
      R"({"chat_template": "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}",
                                                  "bos_token": {"content": "<b>"}})");
  loaded.input = {};
  loaded.tokenizer =
      Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = dir / "tokenizer.json"}).build({}, {});
  EXPECT_EQ(chat_template_of(loaded, {}).render({}, {}, {}).text, "<b>");
}

TEST(ChatSession, GenerationConfigAddsEndTokens) {
  TempDir dir;
  std::filesystem::copy(reference_file("tokenizers/smollm.json"), dir.path() / "tokenizer.json");
  const auto settings = [&](const char* config) {
    replace_file(dir / "generation_config.json", config);
    return Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = dir / "tokenizer.json"})
        .build({}, {})
        ->chat_settings();
  };
  EXPECT_THAT(settings(R"({"eos_token_id": [1, 3]})").end_ids, ElementsAre(1, 3));
  EXPECT_THAT(settings(R"({"eos_token_id": 2})").end_ids, ElementsAre(2));
  EXPECT_THAT(settings(R"({"eos_token_id": null})").end_ids, IsEmpty());
  EXPECT_THAT(error_of<DataError>([&] { settings(R"({"eos_token_id": [9999999]})"); }),
              HasSubstr("generation_config.json: eos_token_id[0]: expected"));
}

}  // namespace
}  // namespace axle
