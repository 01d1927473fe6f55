#include "infer/text_generator.h"

#include <gmock/gmock.h>

#include "data/tokenizers/byte_tokenizer.h"
#include "interop/tiny_model_test.h"
#include "runtime/interpreter_runtime.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model that generates `text` after the byte 'a', byte by byte. No byte may occur twice.
LoadedModel says(std::string_view text, bool ends, std::optional<int64_t> context_len = {}) {
  std::vector<std::pair<int32_t, int32_t>> successors;
  int32_t last = 'a';
  for (const char c : text) {
    successors.emplace_back(last, static_cast<uint8_t>(c));
    last = static_cast<uint8_t>(c);
  }
  if (ends) successors.emplace_back(last, ByteTokenizer::kBoundary);
  TinyModel tiny = chain_model(successors, 260);
  return {.config = {},
          .model = std::move(tiny.model),
          .parameters = std::move(tiny.parameters),
          .tokenizer_config = {},
          .tokenizer = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {}),
          .context_len = context_len};
}

class TextGeneratorTest : public ::testing::Test {
 protected:
  GeneratedText generate(LoadedModel model, std::string_view prompt,
                         const GenerateOptions& options) {
    pieces_.clear();
    return TextGenerator(std::move(model), runtime_)
        .generate(prompt, options, [&](std::string_view piece) { pieces_.emplace_back(piece); });
  }
  InterpreterRuntime runtime_{1};
  std::vector<std::string> pieces_;
};

TEST_F(TextGeneratorTest, StreamsWholeCharacters) {
  const GeneratedText out = generate(says("é€x", true), "a", {});
  EXPECT_EQ(out.text, "é€x");
  EXPECT_THAT(pieces_, ElementsAre("é", "€", "x"));
  EXPECT_EQ(out.row.stop, StopReason::kEndToken);
  EXPECT_EQ(out.row.tokens.size(), 6u);
  EXPECT_EQ(out.prompt_tokens, 2);  // the begin token and 'a'
}

TEST_F(TextGeneratorTest, IncompleteCharacterIsReplacedAtTheEnd) {
  const GeneratedText out = generate(says("x€", true), "a", {.max_tokens = 3});
  EXPECT_EQ(out.text, "x\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_THAT(pieces_, ElementsAre("x", "\xef\xbf\xbd\xef\xbf\xbd"));
  EXPECT_EQ(out.row.stop, StopReason::kMaxTokens);
}

TEST_F(TextGeneratorTest, BeginTokenEndsTheText) {
  LoadedModel model = says("xy", true);  // the vocabulary's boundary is both begin and end
  EXPECT_EQ(generate(std::move(model), "ba", {}).text, "xy");
}

TEST_F(TextGeneratorTest, AnEmptyPromptBeginsAText) {
  TinyModel tiny = chain_model(
      {{ByteTokenizer::kBoundary, 'h'}, {'h', 'i'}, {'i', ByteTokenizer::kBoundary}}, 260);
  LoadedModel model{.config = {},
                    .model = std::move(tiny.model),
                    .parameters = std::move(tiny.parameters),
                    .tokenizer_config = {},
                    .tokenizer = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {}),
                    .context_len = {}};
  EXPECT_EQ(generate(std::move(model), "", {}).text, "hi");
}

TEST_F(TextGeneratorTest, MistakesAreNamed) {
  const auto error = [&](std::string_view prompt, std::optional<int64_t> context_len) {
    return error_of([&] { generate(says("xy", true, context_len), prompt, {}); });
  };
  EXPECT_EQ(error("ab\xff", {}), "prompt: expected UTF-8, got an invalid byte at byte 3");
  EXPECT_THAT(error("abcdefghij", 8), HasSubstr("model's context of 8, got 11"));
}

}  // namespace
}  // namespace axle
