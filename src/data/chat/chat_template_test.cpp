#include "data/chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/fields.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "io/file.h"
#include "io/gguf/save_gguf.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ChatTemplate, TemplateVariablesMatchTransformers) {
  const ChatTemplate chat(
      "{{ bos_token }}{{ messages|length }}{{ tools is none }}{{ documents is none }}"
      "{{ add_generation_prompt }}{{ enable_thinking is defined }}{{ pad_token is defined }}",
      "chat", {{"bos_token", "<s>"}});
  const Conversation conversation =
      conversation_of(R"({"messages":[{"role":"user","content":"a"}]})");
  EXPECT_EQ(chat.render(conversation.messages, conversation.tools, {}).text,
            "<s>1TrueTrueFalseFalseFalse");
  EXPECT_EQ(chat.render(conversation.messages, conversation.tools,
                        {.add_generation_prompt = true, .variables = {{"enable_thinking", true}}})
                .text,
            "<s>1TrueTrueTrueTrueFalse");
  EXPECT_FALSE(chat.marks_generation());
  EXPECT_TRUE(ChatTemplate("{% if true %}{% for x in [] %}{% else %}{% generation %}"
                           "{% endgeneration %}{% endfor %}{% endif %}",
                           "chat")
                  .marks_generation());
  EXPECT_NE(ChatTemplate("a", "chat").fingerprint(), ChatTemplate("b", "chat").fingerprint());
}

TEST(ChatTemplate, IsReadFromItsFileOrTheTokenizersConfig) {
  const TempDir dir;
  const auto read = [&](const std::string& bytes) {
    replace_file(dir / "x", bytes);
    return read_chat_template(dir / "x", "input.chat_template");
  };
  EXPECT_EQ(read("{{ messages }}\n"), "{{ messages }}\n");
  EXPECT_EQ(read("\n{% set x = 1 %}"), "\n{% set x = 1 %}");
  EXPECT_EQ(read(R"({"bos_token": "<s>", "chat_template": "{{ 1 }}"})"), "{{ 1 }}");
  EXPECT_EQ(read(R"({"chat_template": [{"name": "rag", "template": "a"},
                                       {"name": "default", "template": "b"}]})"),
            "b");
  GgufMetadata metadata;
  metadata.set("tokenizer.chat_template", "{{ 2 }}");
  save_gguf(dir / "x.gguf", metadata, {});
  EXPECT_EQ(read_chat_template(dir / "x.gguf", "input.chat_template"), "{{ 2 }}");
  EXPECT_EQ(error_of<DataError>([&] { read(R"({"model_max_length": 2048})"); }),
            dir / "x" + ": expected the field 'chat_template', got an object without it");
  EXPECT_EQ(error_of<DataError>([&] { read(R"({"chat_template": [{"name": "a"}]})"); }),
            dir / "x" +
                ": chat_template: expected a template with the name 'default', got a list "
                "of 1");
  for (const auto& [bytes, got] :
       {std::pair(std::string(), "an empty file"), std::pair(std::string("PK\x03\x04x"), "a zip"),
        std::pair(std::string(R"({"architectures": []})"), "a config.json of Hugging Face")}) {
    EXPECT_THAT(error_of<DataError>([&] { read(bytes); }),
                StartsWith(dir / "x" +
                           ": expected a chat template (*.jinja), a tokenizer_config.json or a "
                           "GGUF file, got " +
                           got));
  }
  EXPECT_EQ(read(R"({"tokenizer_class": "A", "chat_template": "c"})"), "c");
  EXPECT_THAT(error_of<DataError>([] { read_chat_template("/none", "input.chat_template"); }),
              HasSubstr("set input.chat_template"));
}

// The data are not to blame for it.
TEST(ChatTemplate, ATextThatWritesNoMessageIsRefused) {
  const TempDir dir;
  const auto tokenizer = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {});
  const auto error = [&](const std::string& text) {
    replace_file(dir / "x", text);
    return error_of<DataError>(
        [&] { chat_template_or_plain(*tokenizer, dir / "x", "--chat-template"); });
  };
  for (const char* none :
       {"steps: 3\nbatch: 4\n", "{% for m in messages %}{{ m.role }}{% endfor %}"}) {
    EXPECT_EQ(error(none), dir / "x" +
                               ": expected a chat template, got a text that writes nothing of a "
                               "question and its answer; set --chat-template");
  }
  for (const char* some : {"{{ messages[0].content }}", "{{ messages[1].content[0] }}",
                           "{% for m in messages %}{{ m.content|length }}{% endfor %}",
                           "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}"
                           "{% endfor %}",
                           "{{ raise_exception('no') }}"})
    EXPECT_EQ(error(some), "no error") << some;
}

}  // namespace
}  // namespace axle
