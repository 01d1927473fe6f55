#include <gmock/gmock.h>

#include "infer/tiny_llama_test.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

class TinyLlamaOnPlugin : public PluginTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    if (IsSkipped()) return;
    generator_ = std::make_unique<TextGenerator>(
        load_model(import_tiny_llama(dir_, TinyLlama({.max_seq_len = 512}))), *runtime_);
  }
  static constexpr std::string_view kPrompt = "bakeri tilomu";
  TempDir dir_;
  std::unique_ptr<TextGenerator> generator_;
};

TEST_F(TinyLlamaOnPlugin, GeneratesAsThePlainLoops) {
  for (const LlamaSizes& sizes : tiny_llamas()) expect_generates_as_the_loops(*runtime_, sizes);
}

TEST_F(TinyLlamaOnPlugin, StreamedTextEqualsTheFinalText) {
  std::string streamed;
  const GeneratedText out = generator_->generate(kPrompt, {.max_tokens = 40},
                                                 [&](std::string_view text) { streamed += text; });
  EXPECT_EQ(streamed, out.text);
  EXPECT_GT(out.tokens_per_sec, 0);
}

TEST_F(TinyLlamaOnPlugin, BucketsChangeNoToken) {
  const TokenIds short_run = generator_->generate(kPrompt, {.max_tokens = 20}).row.tokens;
  const TokenIds long_run = generator_->generate(kPrompt, {.max_tokens = 400}).row.tokens;
  ASSERT_GE(long_run.size(), short_run.size());
  EXPECT_EQ(TokenIds(long_run.begin(), long_run.begin() + std::ssize(short_run)), short_run);
}

TEST_F(TinyLlamaOnPlugin, SampledTextDependsOnTheSeedOnly) {
  const GenerateOptions options{
      .sampling = {.temperature = 1, .top_k = 40, .top_p = 0.9}, .max_tokens = 40, .seed = 1};
  GenerateOptions other = options;
  other.seed = 2;
  const TokenIds tokens = generator_->generate(kPrompt, options).row.tokens;
  EXPECT_EQ(generator_->generate(kPrompt, options).row.tokens, tokens);
  EXPECT_NE(generator_->generate(kPrompt, other).row.tokens, tokens);
}

}  // namespace
}  // namespace axle
