// Templates of real models: the texts are those that transformers makes of them
// (tools/oracle/foreign_chat_templates.py prints their hashes).

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "data/chat/chat_template.h"
#include "data/chat/learned_text.h"
#include "testing/foreign_data.h"

namespace axle {
namespace {

constexpr int64_t kNoonOf26July2024 = 1721995200;

const char* const kConversation =
    R"({"messages":[{"role":"system","content":" Be brief.\n"},)"
    R"({"role":"user","content":"Hi é"},{"role":"assistant","content":"Hello 猫!"},)"
    R"({"role":"user","content":"  And 2+2? "},{"role":"assistant","content":"4\n"}]})";

class ChatTemplateForeign : public ForeignDataTest {
 protected:
  // Hashes of: two messages without a system text, all five, the first four; each also with the
  // generation prompt.
  static void expect_texts(const std::string& path, const std::vector<std::string>& hashes) {
    const ChatTemplate chat(read_chat_template(path, "path"), "chat", {{"bos_token", "<s>"}});
    const Conversation conversation = conversation_of(kConversation);
    const std::span all(conversation.messages);
    size_t i = 0;
    for (const auto messages : {all.subspan(1, 2), all, all.first(4)}) {
      for (const bool add_prompt : {false, true}) {
        const std::string text =
            chat.render(messages, {},
                        {.add_generation_prompt = add_prompt, .now_secs = kNoonOf26July2024})
                .text;
        EXPECT_EQ(sha256_hex(text).substr(0, 16), hashes[i++]) << text;
      }
    }
    // The answers can be distinguished.
    const LearnedText learned = learned_text(chat, conversation.messages, {}, Learned::kAssistant,
                                             {.now_secs = kNoonOf26July2024});
    ASSERT_EQ(learned.learned.size(), 2u);
    const auto [begin, end, message] = learned.learned[0];
    EXPECT_TRUE(learned.text.substr(begin, end - begin).starts_with("Hello 猫!")) << begin;
  }
};

TEST_F(ChatTemplateForeign, SmolLM2) {
  AXLE_NEEDS_FILES("gguf/smollm2-135m-instruct-q4_1.gguf");
  expect_texts(file("gguf/smollm2-135m-instruct-q4_1.gguf"),
               {"515c4298ec831fd1", "1cb8b8c18f508ab5", "faf0559c551d22d7", "1bafdf2cba7cc4f7",
                "6da2249bc77d7b1d", "09bfd7c187e06ab3"});
}

// Templates that write earlier turns otherwise when more follows: thoughts are dropped, the tools
// move to the last question, a text that ends without a prompt ends with another token.
class AnswerPlacesForeign : public ForeignDataTest {
 protected:
  static constexpr std::string_view kTools =
      R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}])";

  // For templates without tools, `tools` is empty.
  static std::vector<std::string> answers(const std::string& path,
                                          std::string_view tools = kTools) {
    const std::string messages =
        R"({"messages":[{"role":"user","content":"a"},)"
        R"({"role":"assistant","content":"<think>\nfirst\n</think>\n\nb"},)"
        R"({"role":"user","content":"c"},)"
        R"({"role":"assistant","content":"<think>\nsecond\n</think>\n\nd"}])";
    return answers(path, conversation_of(messages + std::string(tools) + "}"));
  }

  static std::vector<std::string> answers(const std::string& path, const Conversation& talk) {
    const ChatTemplate chat(read_chat_template(path, "path"), "chat",
                            {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    const LearnedText learned =
        learned_text(chat, talk.messages, talk.tools, Learned::kAssistant, {});
    std::vector<std::string> out;
    for (const auto& [begin, end, message] : learned.learned)
      out.push_back(learned.text.substr(begin, end - begin));
    return out;
  }
  using Texts = std::vector<std::string>;
};

TEST_F(AnswerPlacesForeign, Qwen3) {
  AXLE_NEEDS_FILES("templates/qwen3.jinja", "templates/Qwen3-Next-Thinking.jinja");
  EXPECT_EQ(answers(file("templates/qwen3.jinja")),
            (Texts{"b<|im_end|>", "<think>\nsecond\n</think>\n\nd<|im_end|>"}));
  // Its prompt begins the thought.
  EXPECT_EQ(answers(file("templates/Qwen3-Next-Thinking.jinja")),
            (Texts{"b<|im_end|>", "second\n</think>\n\nd<|im_end|>"}));
}

TEST_F(AnswerPlacesForeign, DeepSeekR1) {
  AXLE_NEEDS_FILES("templates/deepseek-r1-distill-qwen.jinja");
  EXPECT_EQ(answers(file("templates/deepseek-r1-distill-qwen.jinja"), ""),
            (Texts{"\n\nb<｜end▁of▁sentence｜>", "\n\nd<｜end▁of▁sentence｜>"}));
}

// A system's text that the template has for a first message is not of the answer.
TEST_F(AnswerPlacesForeign, AFirstAnswerIsTheSameWithoutAQuestion) {
  AXLE_NEEDS_FILES("templates/qwen3.jinja");
  int num_told = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(file("templates/qwen3.jinja")).parent_path())) {
    const std::string path = entry.path();
    Conversation talk = conversation_of(
        R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
        R"({"role":"user","content":"c"},{"role":"assistant","content":"d"}]})");
    const Texts expected = answers(path, talk);
    talk.messages.erase(talk.messages.begin());
    try {
      const Texts got = answers(path, talk);
      // A few begin their answers in the question's turn, and so have nothing before a first one.
      if (expected[0].ends_with(got[0]) && path.find("eek-V3.") != path.npos) continue;
      EXPECT_EQ(got, expected) << path;
      ++num_told;
    } catch (const DataError&) {  // some ask for a question
    }
  }
  EXPECT_GT(num_told, 40);
}

TEST_F(AnswerPlacesForeign, MistralAndPhi3) {
  AXLE_NEEDS_FILES("templates/mistral-large-instruct.jinja",
                   "templates/phi-3-mini-128k-instruct.jinja");
  const std::string first = "<think>\nfirst\n</think>\n\nb",
                    second = "<think>\nsecond\n</think>\n\nd";
  EXPECT_EQ(answers(file("templates/mistral-large-instruct.jinja")),
            (Texts{first + "</s>", second + "</s>"}));
  EXPECT_EQ(answers(file("templates/phi-3-mini-128k-instruct.jinja"), ""),
            (Texts{first + "<|end|>", second + "<|end|>"}));
}

}  // namespace
}  // namespace axle
