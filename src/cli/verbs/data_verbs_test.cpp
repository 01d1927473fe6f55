// `axle data build|inspect|verify` through the command line.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/environment_change.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kTokenizer = reference_file("tokenizers/llama3.json");

class DataVerbs : public ::testing::Test {
 protected:
  DataVerbs() {
    std::string lines;
    for (int i = 0; i < 9; ++i)
      lines += nlohmann::json{{"body", std::string(size_t(10 * i), 'a')}}.dump() + "\n";
    replace_file(dir_ / "a.jsonl", lines);
    replace_file(dir_ / "b.txt", "One.\n\nTwo.\n");
  }
  Ran build(const std::vector<std::string>& more = {}) {
    return run_axle(joined({"data", "build", dir_ / "a.jsonl", dir_ / "b.txt", "--tokenizer",
                            kTokenizer, "--out", dir_ / "tokens", "--field", "body"},
                           more));
  }
  TempDir dir_;
};

TEST_F(DataVerbs, BuildInspectVerify) {
  const Ran built = build({"--unit", "paragraph"});
  ASSERT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.out, AllOf(HasSubstr("tokens.bin: 2 files, 10 documents"),
                               HasSubstr("1 skipped (1 empty: a.jsonl:1)")));
  EXPECT_THAT(build({"--unit", "paragraph"}).out, HasSubstr("tokens.bin is there"));
  const Ran inspected = run_axle({"data", "inspect", dir_ / "tokens.idx", "--documents", "10"});
  EXPECT_THAT(inspected.out,
              AllOf(HasSubstr("10 documents"), HasSubstr("HuggingFaceTokenizer of"),
                    HasSubstr("vocabulary of 700"), HasSubstr("document 9: 0"), HasSubstr("Two.")));
  const Ran verified = run_axle({"data", "verify", dir_ / "tokens", "--json"});
  ASSERT_EQ(verified.code, 0) << verified.err;
  EXPECT_EQ(nlohmann::json::parse(verified.out)["num_documents"], 10);
}

TEST_F(DataVerbs, VerifyFindsAnyFlippedBit) {
  ASSERT_EQ(build().code, 0);
  for (const char* ending : {".bin", ".idx"}) {
    const std::string path = dir_ / (std::string("tokens") + ending), good = read_file(path);
    std::string bad = good;
    bad[good.size() / 2] ^= 1;
    replace_file(path, bad);
    const Ran ran = run_axle({"data", "verify", dir_ / "tokens"});
    EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kData)) << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(ending));
    replace_file(path, good);
  }
}

TEST_F(DataVerbs, ConversationsAndPairsHaveFlagsThatAreVerified) {
  std::string talks, pairs;
  for (int i = 0; i < 9; ++i) {
    talks += R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"yes"}]})"
             "\n";
    pairs += R"({"prompt":"q","chosen":"yes","rejected":"no"})"
             "\n";
  }
  replace_file(dir_ / "talks.jsonl", talks);
  replace_file(dir_ / "pairs.jsonl", pairs);
  const auto make = [&](const std::string& name, const std::vector<std::string>& more = {}) {
    return run_axle(joined(
        {"data", "build", dir_ / (name + ".jsonl"), "--tokenizer", "bytes", "--out", dir_ / name},
        more));
  };
  for (const std::string& name : {std::string("talks"), std::string("pairs")}) {
    const Ran built = make(name);
    ASSERT_EQ(built.code, 0) << built.err;
    EXPECT_THAT(built.out, HasSubstr(name == "pairs" ? "; 9 pairs of answers" : "learned: "));
    const std::string end = "\nanswers that end with '<|im_end|>', which the tokenizer spells\n";
    EXPECT_THAT(built.out, HasSubstr(end));
    EXPECT_THAT(run_axle({"data", "inspect", dir_ / name}).out,
                AllOf(HasSubstr("learned: "), HasSubstr(end)));
    EXPECT_THAT(run_axle({"data", "verify", dir_ / name}).out, HasSubstr(" tokens learned"));
    for (const char* ending : {".bin", ".idx", ".learned.bin", ".learned.idx"}) {
      const std::string path = (dir_ / name) + ending, good = read_file(path);
      std::string bad = good;
      bad[good.size() / 2] ^= 1;
      replace_file(path, bad);
      const Ran ran = run_axle({"data", "verify", dir_ / name});
      EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kData)) << ran.out;
      EXPECT_THAT(ran.err, HasSubstr(name + ending));
      replace_file(path, good);
    }
    remove_tree((dir_ / name) + ".learned.idx");
    EXPECT_EQ(run_axle({"data", "verify", dir_ / name}).code, static_cast<int>(ExitCode::kData));
  }
  EXPECT_THAT(run_axle({"data", "build", dir_ / "talks.jsonl", "--tokenizer", "bytes", "--out",
                        dir_ / "other", "--field", "messages"})
                  .err,
              HasSubstr("talks.jsonl:1: "));
  EXPECT_THAT(make("talks", {"--unit", "conversation", "--no-end"}).err,
              HasSubstr("--no-end: expected texts, got --unit conversation"));
  EXPECT_THAT(run_axle({"data", "build", dir_ / "b.txt", dir_ / "talks.jsonl", "--tokenizer",
                        "bytes", "--out", dir_ / "other"})
                  .err,
              AllOf(HasSubstr("SOURCES: expected one kind, got texts in "),
                    HasSubstr(" and conversations in "), HasSubstr("build each by itself")));
  EXPECT_THAT(build({"--seq-len", "5"}).err,
              HasSubstr("--seq-len: expected conversations or pairs of answers, got texts; leave "
                        "it out"));
  EXPECT_THAT(build({"--seq-len", "5", "--unit", "line"}).err, HasSubstr("got --unit line; "));
  replace_file(dir_ / "empty.jsonl", "");
  const Ran empty = run_axle({"data", "build", dir_ / "empty.jsonl", "--tokenizer", "bytes",
                              "--out", dir_ / "other", "--seq-len", "5"});
  EXPECT_THAT(empty.err, HasSubstr("empty.jsonl: expected texts, got no document"));
  EXPECT_EQ(empty.code, static_cast<int>(ExitCode::kData));
  EXPECT_THAT(make("pairs", {"--learned", "all"}).err,
              HasSubstr("--learned: expected conversations, got pairs of answers; leave it out"));
}

TEST_F(DataVerbs, TokenFilesOfOtherProgramsHaveNoCard) {
  const std::string file = reference_file("token_files/parts");
  EXPECT_THAT(run_axle({"data", "inspect", file}).out,
              AllOf(HasSubstr("tokenizer: not known, there is no card"), HasSubstr("as u16")));
  EXPECT_EQ(run_axle({"data", "verify", file, "--vocab-size", "120"}).code, 0);
  EXPECT_THAT(run_axle({"data", "verify", file, "--vocab-size", "100"}).err,
              HasSubstr("expected ids of 0 to 99, got"));
}

TEST_F(DataVerbs, VerifyUsesTheSmallerVocabulary) {
  ASSERT_EQ(build().code, 0);
  const auto verify = [&](int64_t size) {
    return run_axle(
        {"data", "verify", dir_ / "tokens", "--vocab-size", std::to_string(size), "--json"});
  };
  const auto all = nlohmann::json::parse(verify(9000).out);
  EXPECT_EQ(all["vocab_size"], 700);
  const auto largest = all["largest_id"].get<int64_t>();
  EXPECT_EQ(verify(largest + 1).code, 0);
  const Ran few = verify(largest);
  EXPECT_EQ(few.code, static_cast<int>(ExitCode::kData));
  EXPECT_THAT(few.err, HasSubstr(fmt::format("expected ids of 0 to {}, got", largest - 1)));
}

TEST_F(DataVerbs, UnfinishedBuildsAreReported) {
  make_directories(dir_ / "tokens.part");
  const std::string got =
      "got an unfinished build (" + (dir_ / "tokens.part") + "), which the same axle data build";
  for (const char* verb : {"inspect", "verify"})
    EXPECT_THAT(run_axle({"data", verb, dir_ / "tokens"}).err, HasSubstr(got)) << verb;
  for (const char* name : {"tokens", "tokens.idx"}) {
    const Ran ran = run_axle({"train", "quickstart", "--data", dir_ / name, "--steps", "1", "--dir",
                              dir_ / "run", "--backend", "interpreter"});
    EXPECT_THAT(ran.err, HasSubstr(got)) << name;
    EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kData));
  }
  EXPECT_THAT(run_axle({"data", "inspect", dir_ / "other"}).err, HasSubstr("got nothing there"));
}

TEST_F(DataVerbs, WhichNamesTheDocumentsOfAStep) {
  ASSERT_EQ(build().code, 0);
  const auto file = [&](const std::string& fields) {
    replace_file(dir_ / "c.yaml", "recipe: quickstart\nset:\n  evalers: {}\n" + fields);
    return dir_ / "c.yaml";
  };
  const std::string tokens = file(
      "  model.decoder.vocab_size: 700\n  input: TokenInput\n  input.epochs: 1\n  input.split: "
      "all\n  input.tokenizer: {class: HuggingFaceTokenizer, path: " +
      kTokenizer + "}\n  input.sources: {t: {path: " + (dir_ / "tokens") + "}}\n");
  const Ran ran = run_axle({"data", "which", tokens, "--step", "1"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("row 0: "), HasSubstr("tokens.bin:3 ("),
                             HasSubstr("a.jsonl, its document 3), tokens 0 to ")));
  EXPECT_THAT(run_axle({"data", "which", tokens, "--step", "99"}).err,
              HasSubstr("--step 99: expected a step whose batch has documents, got one behind"));
  for (const char* step : {"0", "abc", "010x", "99999999999999999999"}) {
    const std::string err = run_axle({"data", "which", tokens, "--step", step}).err;
    EXPECT_THAT(err, HasSubstr("--step: ")) << step;
    EXPECT_LT(err.size(), 200u) << err;
  }
  const std::string text = file("  input.split: all\n  input.source: {path: " + (dir_ / "b.txt") +
                                ", unit: paragraph}\n");
  const Ran of_text = run_axle({"data", "which", text, "--step", "1", "--json"});
  ASSERT_EQ(of_text.code, 0) << of_text.err;
  EXPECT_THAT(of_text.out, AllOf(HasSubstr("b.txt:1\""), HasSubstr("b.txt:3\"")));
}

TEST_F(DataVerbs, FilesOfEveryKindMixByWeights) {
  EnvironmentChange cache("XDG_CACHE_HOME", dir_ / "cache");
  std::string talks, lines;
  for (int i = 0; i < 40; ++i) {
    talks += R"({"instruction":"q","output":"yes"})"
             "\n";
    lines += "A line.\n";
  }
  replace_file(dir_ / "talks.jsonl", talks);
  replace_file(dir_ / "c.txt", lines);
  ASSERT_EQ(run_axle({"data", "build", dir_ / "c.txt", "--unit", "line", "--tokenizer", "bytes",
                      "--out", dir_ / "c"})
                .code,
            0);
  const std::vector<std::string> mixture = {"--data", (dir_ / "talks.jsonl") + "=0.5",
                                            "--data", (dir_ / "c") + "=0.3",
                                            "--data", (dir_ / "a.jsonl") + "=0.2"};
  const std::vector<std::string> fields = {"--set", "input.sources.a.field=body",
                                           "--set", "input.sources.a.on_error=skip",
                                           "--set", "input.split=all",
                                           "--set", "evalers={}"};
  const auto check = [&](const std::vector<std::string>& more) {
    return run_axle(joined(joined({"config", "check", "quickstart"}, mixture), more));
  };
  const Ran good = check(fields);
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.err, HasSubstr("input.sources.talks: encoding"));
  const Ran bad = check({"--set", "evalers={}"});
  EXPECT_EQ(bad.code, static_cast<int>(ExitCode::kData)) << bad.out;
  EXPECT_THAT(bad.err, HasSubstr("a.jsonl:1: expected the field 'text'"));
  EXPECT_EQ(run_axle({"config", "check", "quickstart", "--data", dir_ / "c", "--set",
                      "input.packing=best_fit"})
                .code,
            0);
}

TEST_F(DataVerbs, TokenizerThatDoesNotMatchTheCardIsRefused) {
  ASSERT_EQ(build().code, 0);
  const Ran ran = run_axle({"data", "inspect", dir_ / "tokens", "--tokenizer", "bytes"});
  EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kData));
  EXPECT_THAT(ran.err, HasSubstr("tokens.json: expected the tokenizer of"));
}

}  // namespace
}  // namespace axle
