// `axle tokenizer train` through the command line.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "io/file.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TokenizerTrain : public ::testing::Test {
 protected:
  Ran train(const std::vector<std::string>& more) {
    return run_axle(joined({"tokenizer", "train", text_file(dir_), "--out", dir_ / "own"}, more));
  }
  TempDir dir_;
};

TEST_F(TokenizerTrain, OtherVerbsReadTheWrittenTokenizer) {
  const Ran ran = train({"--vocab-size", "280", "--special", "<|user|>", "--eos", "<|end|>"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("own/tokenizer.json: vocabulary of 280 (256 bytes, 2 special "
                                 "tokens, 22 merges), "));
  const std::string file = dir_ / "own/tokenizer.json";
  EXPECT_THAT(run_axle({"tokenize", "inspect", file}).out,
              AllOf(HasSubstr("vocabulary of 280"), HasSubstr("eos: 1 <|end|>")));
  const Ran encoded = run_axle({"tokenize", "encode", file, "--text", "fox \xe7\x8c\xab"});
  EXPECT_EQ(run_axle({"tokenize", "decode", file, "--ids", encoded.out}).out, "fox \xe7\x8c\xab\n");
  const Ran again = train({});
  EXPECT_EQ(again.code, static_cast<int>(ExitCode::kData));
  EXPECT_THAT(again.err, HasSubstr("--out: expected a folder without a tokenizer, got"));
}

TEST_F(TokenizerTrain, SaysWhenThereIsLessThanAskedFor) {
  const Ran ran = train({"--vocab-size", "5000", "--min-frequency", "3", "--max-text", "0.000001"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("smaller than 5000: no other pair comes 3 times"),
                             HasSubstr("1 file had more text than its share of --max-text")));
}

TEST_F(TokenizerTrain, ReportsJson) {
  const Ran ran = train({"--vocab-size", "270", "--json", "--pattern", "gpt2"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto report = nlohmann::json::parse(ran.out);
  EXPECT_EQ(report["vocab_size"], 270);
  EXPECT_EQ(report["num_merges"], 14);
  EXPECT_EQ(report["text_bytes"], 40 * 45);
}

TEST_F(TokenizerTrain, MistakesAreNamed) {
  const auto error = [&](const std::vector<std::string>& flags, ExitCode code) {
    const Ran ran = train(flags);
    EXPECT_EQ(ran.code, static_cast<int>(code)) << ran.err;
    EXPECT_FALSE(path_exists(dir_ / "own")) << ran.err;
    return ran.err;
  };
  EXPECT_THAT(error({"--vocab-size", "100"}, ExitCode::kUser),
              HasSubstr("--vocab-size: expected at least 256"));
  EXPECT_THAT(error({"--special", "x"}, ExitCode::kUser), HasSubstr("--special: expected a text"));
  EXPECT_THAT(error({"--pattern", "gpt3"}, ExitCode::kUser), HasSubstr("--pattern"));
  replace_file(dir_ / "bad.txt", "\xff");
  EXPECT_THAT(error({dir_ / "bad.txt"}, ExitCode::kData), HasSubstr("not valid UTF-8 at byte 1"));
  replace_file(dir_ / "talks.jsonl", R"({"prompt": "a", "chosen": "b", "rejected": "c"})");
  const Ran ran = run_axle({"tokenizer", "train", dir_ / "talks.jsonl", "--out", dir_ / "own"});
  EXPECT_THAT(ran.err, HasSubstr("talks.jsonl: expected texts, got pairs of answers; --field "));
  EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kData));
}

}  // namespace
}  // namespace axle
