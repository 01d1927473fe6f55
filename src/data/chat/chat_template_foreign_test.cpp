// Templates of real models: the texts are those that transformers makes of them
// (tools/oracle/foreign_chat_templates.py prints their hashes).

#include <gtest/gtest.h>

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
    // The answers can be told apart.
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
  static std::vector<std::string> answers(const std::string& path) {
    const ChatTemplate chat(read_chat_template(path, "path"), "chat", {{"eos_token", "</s>"}});
    const Conversation talk = conversation_of(
        R"({"messages":[{"role":"user","content":"a"},)"
        R"({"role":"assistant","content":"<think>\nfirst\n</think>\n\nb"},)"
        R"({"role":"user","content":"c"},)"
        R"({"role":"assistant","content":"<think>\nsecond\n</think>\n\nd"}],)"
        R"("tools":[{"type":"function","function":{"name":"f","parameters":{}}}]})");
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
  EXPECT_EQ(answers(file("templates/deepseek-r1-distill-qwen.jinja")),
            (Texts{"\n\nb<｜end▁of▁sentence｜>", "\n\nd<｜end▁of▁sentence｜>"}));
}

TEST_F(AnswerPlacesForeign, MistralAndPhi3) {
  AXLE_NEEDS_FILES("templates/mistral-large-instruct.jinja",
                   "templates/phi-3-mini-128k-instruct.jinja");
  const std::string first = "<think>\nfirst\n</think>\n\nb",
                    second = "<think>\nsecond\n</think>\n\nd";
  EXPECT_EQ(answers(file("templates/mistral-large-instruct.jinja")),
            (Texts{first + "</s>", second + "</s>"}));
  EXPECT_EQ(answers(file("templates/phi-3-mini-128k-instruct.jinja")),
            (Texts{first + "<|end|>", second + "<|end|>"}));
}

}  // namespace
}  // namespace axle
