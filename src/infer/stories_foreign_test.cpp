// The small Llama of stories, trained by others, and the greedy text of its own program.
#include <gmock/gmock.h>

#include "infer/text_generator.h"
#include "interop/import_model.h"
#include "io/file.h"
#include "pjrt/pjrt_runtime.h"
#include "runtime/interpreter_runtime.h"
#include "testing/foreign_data.h"
#include "testing/needs_plugin.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

constexpr std::string_view kPrompt = "Once upon a time";
constexpr int64_t kTokens = 86;

class StoriesForeign : public ForeignDataTest {
 protected:
  void SetUp() override {
    ForeignDataTest::SetUp();
    if (IsSkipped()) return;
    AXLE_NEEDS_FILES("stories260K/stories260K.bin", "stories260K/tok512.bin",
                     "stories260K/tok512.model", "stories260K/golden_greedy_90.txt");
  }
  /// Reads the prompt with its tokens, a Python string literal on the file's second line.
  static std::string golden_story() {
    const std::string text = read_file(file("stories260K/golden_greedy_90.txt"));
    const size_t begin = text.find('\'', text.find('\n')) + 1, end = text.rfind('\'');
    std::string out;
    for (size_t i = begin; i < end; ++i) {
      if (text[i] != '\\') {
        out += text[i];
      } else {
        out += text[++i] == 'n' ? '\n' : text[i];
      }
    }
    return out;
  }
  TextGenerator generator(const std::string& tokenizer, Runtime& runtime) const {
    import_model({.source = file("stories260K/stories260K.bin"),
                  .dir = dir_ / tokenizer,
                  .options = {.tokenizer = file("stories260K/" + tokenizer)}});
    return {load_model(dir_ / tokenizer), runtime};
  }
  TempDir dir_;
};

TEST_F(StoriesForeign, GreedyTextMatchesGolden) {
  InterpreterRuntime runtime(1);
  for (const char* tokenizer : {"tok512.bin", "tok512.model"}) {
    const GeneratedText out =
        generator(tokenizer, runtime).generate(kPrompt, {.max_tokens = kTokens});
    EXPECT_EQ(std::string(kPrompt) + out.text, golden_story());
  }
}

TEST_F(StoriesForeign, StoryEndsWhereTheNextBegins) {
  AXLE_NEEDS_PLUGIN("cpu");
  const auto runtime = make_runtime({});
  TextGenerator stories = generator("tok512.bin", *runtime);
  const GeneratedText golden = stories.generate(kPrompt, {.max_tokens = kTokens});
  EXPECT_EQ(std::string(kPrompt) + golden.text, golden_story());
  const GeneratedText out = stories.generate("", {.max_tokens = 500});
  EXPECT_EQ(out.row.stop, StopReason::kEndToken);
  EXPECT_LT(out.row.tokens.size(), 500u);
}

}  // namespace
}  // namespace axle
