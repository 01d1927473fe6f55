// A run whose tokenizer's files have gone: what is said, and where they are looked for.
#include <gmock/gmock.h>

#include <filesystem>

#include "cli/run_test.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// A run of one step that began with a model of another program, which is then moved away.
class MovedTokenizer : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(reference_file("lm_eval/named"), dir_ / "model");
    replace_file(dir_ / "text.txt", std::string(2000, 'a'));
    const Ran ran = train(dir_ / "model", dir_ / "run");
    ASSERT_EQ(ran.code, 0) << ran.err;
    fs::rename(dir_ / "model", dir_ / "elsewhere");
  }
  Ran train(const std::string& from, const std::string& to) {
    return run_axle({"train", "--init-from", from, "--data", dir_ / "text.txt", "--steps", "1",
                     "--dir", to, "--backend", "interpreter", "--set", "input.batch_size=1",
                     "--set", "input.seq_len=8"});
  }
  Ran generate(const std::string& from) {
    return run_axle({"generate", "--backend", "interpreter", "--from", from, "--prompt", "a",
                     "--max-tokens", "1"});
  }
  TempDir dir_;
};

TEST_F(MovedTokenizer, FileInTheFolderOfTheRunIsKept) {
  fs::create_directory(dir_ / "own");
  replace_file(dir_ / "own/tokenizer.json", "mine");
  fs::rename(dir_ / "elsewhere", dir_ / "model");
  EXPECT_EQ(train(dir_ / "model", dir_ / "own").code, 0);
  EXPECT_EQ(read_file(dir_ / "own/tokenizer.json"), "mine");
  EXPECT_FALSE(fs::exists(dir_ / "own/tokenizer_config.json")) << "it belongs to another one";
}

TEST_F(MovedTokenizer, AdjacentFilesAreNamedToo) {
  fs::remove(dir_ / "run/tokenizer.json");
  const Ran lost = generate(dir_ / "run");
  EXPECT_EQ(lost.code, 3);
  EXPECT_THAT(lost.err, HasSubstr((dir_ / "model/tokenizer.json") +
                                  ": expected a file, got nothing there; copy it to " +
                                  (dir_ / "run/tokenizer.json") +
                                  ", with what lay beside it of tokenizer_config.json, "
                                  "special_tokens_map.json, added_tokens.json, "
                                  "generation_config.json, chat_template.jinja\n"));
}

TEST_F(MovedTokenizer, RunKeepsCopiesOfTheFiles) {
  for (const std::string name : {"tokenizer.json", "tokenizer_config.json"})
    EXPECT_EQ(read_file(dir_ / ("run/" + name)), read_file(dir_ / ("elsewhere/" + name)));
  EXPECT_EQ(read_file(dir_ / "run/config.json"), read_file(dir_ / "elsewhere/config.json"));
  const std::string warning = "WARNING: " + (dir_ / "model/tokenizer.json") +
                              " does not exist; the tokenizer is read from " +
                              (dir_ / "run/tokenizer.json") + "\n";
  for (const Ran& ran : {generate(dir_ / "run"), train(dir_ / "run", dir_ / "next")}) {
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(warning));
    EXPECT_EQ(ran.err.find(warning), ran.err.rfind(warning)) << "told once: " << ran.err;
  }
  fs::remove_all(dir_ / "run");
  EXPECT_EQ(generate(dir_ / "next").code, 0) << "it keeps copies of its own";
}

}  // namespace
}  // namespace axle
