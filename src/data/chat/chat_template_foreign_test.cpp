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

TEST_F(ChatTemplateForeign, ATokenizersConfig) {
  AXLE_NEEDS_FILES("tokenizers/torchtitan_test_tokenizer_config.json");
  expect_texts(file("tokenizers/torchtitan_test_tokenizer_config.json"),
               {"fdef59734bfe0faa", "a2f60a787961efd3", "2c69682cfe916f94", "73cf15bb18a30855",
                "83ebf09136b6bd11", "84e7b09ea3217ef7"});
}

// Templates that write earlier turns otherwise when more follows, from llama.cpp's folder
// models/templates: thoughts are dropped, the tools move to the last question, a text that ends
// without a prompt ends with another token.
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
  AXLE_NEEDS_FILES("templates/Qwen-Qwen3-0.6B.jinja", "templates/Qwen-QwQ-32B.jinja");
  EXPECT_EQ(answers(file("templates/Qwen-Qwen3-0.6B.jinja")),
            (Texts{"b<|im_end|>", "<think>\nsecond\n</think>\n\nd<|im_end|>"}));
  // Its prompt begins the thought.
  EXPECT_EQ(answers(file("templates/Qwen-QwQ-32B.jinja")),
            (Texts{"b<|im_end|>", "second\n</think>\n\nd<|im_end|>"}));
}

TEST_F(AnswerPlacesForeign, DeepSeekR1) {
  AXLE_NEEDS_FILES("templates/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja");
  EXPECT_EQ(answers(file("templates/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja")),
            (Texts{"\n\nb<｜end▁of▁sentence｜>", "\n\nd<｜end▁of▁sentence｜>"}));
}

TEST_F(AnswerPlacesForeign, MistralAndPhi3) {
  AXLE_NEEDS_FILES("templates/mistralai-Mistral-Nemo-Instruct-2407.jinja",
                   "templates/microsoft-Phi-3.5-mini-instruct.jinja");
  const std::string first = "<think>\nfirst\n</think>\n\nb",
                    second = "<think>\nsecond\n</think>\n\nd";
  EXPECT_EQ(answers(file("templates/mistralai-Mistral-Nemo-Instruct-2407.jinja")),
            (Texts{first + "</s>", second + "</s>"}));
  EXPECT_EQ(answers(file("templates/microsoft-Phi-3.5-mini-instruct.jinja")),
            (Texts{first + "<|end|>", second + "<|end|>"}));
}

}  // namespace
}  // namespace axle
