#include <gmock/gmock.h>

#include "infer/stories_test.h"
#include "runtime/interpreter_runtime.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

class StoriesParity : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_stories()) GTEST_SKIP() << "no " << stories_folder();
  }
  std::string story(const std::string& tokenizer) {
    const TempDir dir;
    InterpreterRuntime runtime(1);
    TextGenerator generator(load_stories(dir / "stories", tokenizer), runtime);
    const GeneratedText out = generator.generate(kStoryPrompt, {.max_tokens = kStoryTokens});
    EXPECT_EQ(static_cast<int64_t>(out.row.tokens.size()), kStoryTokens);
    return std::string(kStoryPrompt) + out.text;
  }
};

TEST_F(StoriesParity, GreedyTextIsTheGolden) { EXPECT_EQ(story("tok512.bin"), golden_story()); }
TEST_F(StoriesParity, GreedyTextIsTheGoldenWithTheSentencePieceModel) {
  EXPECT_EQ(story("tok512.model"), golden_story());
}

}  // namespace
}  // namespace axle
