// `axle tokenize` through the command line.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "testing/checkout.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

const std::string kFile = reference_file("tokenizers/llama3.json");

TEST(Tokenize, EncodesAndDecodes) {
  const std::string text = "Hello, world! <|end|>";
  const Ran encoded = run_axle({"tokenize", "encode", kFile, "--text", text});
  ASSERT_EQ(encoded.code, static_cast<int>(ExitCode::kOk)) << encoded.err;
  EXPECT_EQ(run_axle({"tokenize", "decode", kFile, "--ids", encoded.out}).out, text + "\n");
  const Ran special =
      run_axle({"tokenize", "encode", kFile, "--text", text, "--special", "--framed", "--json"});
  const auto tokens = nlohmann::json::parse(special.out)["tokens"];
  EXPECT_EQ(tokens.front()["token"], "<|begin|>");
  EXPECT_EQ(tokens.back()["token"], "<|end|>");
}

TEST(Tokenize, DecodesWhatEncodePrintsAsJson) {
  const std::string text = "Hello, world!";
  const Ran encoded = run_axle({"tokenize", "encode", kFile, "--text", text, "--json"});
  EXPECT_EQ(run_axle({"tokenize", "decode", kFile, "--ids", encoded.out}).out, text + "\n");
  const auto error = [](const std::string& ids) {
    const Ran ran = run_axle({"tokenize", "decode", kFile, "--ids", ids});
    EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kData));
    return ran.err;
  };
  EXPECT_THAT(error(R"({"tokens": [{"id": 700}]})"), HasSubstr("--ids: expected ids of 0 to 699"));
  EXPECT_THAT(error(R"({"tokens": [{"id": "a"}]})"), HasSubstr("--ids: tokens[0].id: expected "));
  EXPECT_THAT(error("{1"), HasSubstr("--ids: "));
}

TEST(Tokenize, CountsAndInspects) {
  const TempDir dir;
  const auto count = nlohmann::json::parse(
      run_axle({"tokenize", "count", kFile, "--data", text_file(dir), "--json"}).out);
  EXPECT_EQ(count["num_files"], 1);
  EXPECT_EQ(count["num_bytes"], 40 * 45);
  EXPECT_GT(count["num_tokens"].get<int>(), 40);
  const Ran inspected = run_axle({"tokenize", "inspect", kFile});
  EXPECT_THAT(inspected.out, HasSubstr("HuggingFaceTokenizer, vocabulary of 700"));
  EXPECT_THAT(inspected.out, HasSubstr("before a text: 0 <|begin|>"));
}

TEST(Tokenize, NonTextFilesFailTheCountOrAreSkipped) {
  const TempDir dir;
  text_file(dir);
  replace_file(dir / "z.txt", "\xff\xfe");
  const std::vector<std::string> count = {"tokenize", "count", kFile, "--data", dir.path()};
  const Ran failed = run_axle(count);
  EXPECT_EQ(failed.code, static_cast<int>(ExitCode::kData));
  EXPECT_THAT(failed.err, HasSubstr("z.txt"));
  EXPECT_THAT(failed.err, HasSubstr("; --on-error skip leaves it out"));
  const Ran ran = run_axle(joined(count, {"--on-error", "skip"}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("1 file, 1800 bytes"));
  EXPECT_THAT(ran.out, HasSubstr("1 skipped ("));
}

TEST(Tokenize, MistakesAreNamed) {
  const Ran id = run_axle({"tokenize", "decode", kFile, "--ids", "1 700"});
  EXPECT_EQ(id.code, static_cast<int>(ExitCode::kData));
  EXPECT_THAT(id.err, HasSubstr("--ids: expected ids of 0 to 699"));
  const Ran none = run_axle({"tokenize", "inspect", "/nothing/there.json"});
  EXPECT_EQ(none.code, static_cast<int>(ExitCode::kData));
  EXPECT_THAT(none.err, HasSubstr("expected a file, got nothing there; set FILE"));
}

}  // namespace
}  // namespace axle
