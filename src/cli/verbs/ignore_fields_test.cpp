// Every verb that reads a model of another program leaves out what --ignore names.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "io/file.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class IgnoreFields : public ::testing::Test {
 protected:
  // A model of bytes as a folder of Hugging Face, with a field that nobody knows.
  void SetUp() override {
    const Arguments training = {"train",      "quickstart", "--backend",     "interpreter", "--dir",
                                dir_ / "run", "--data",     text_file(dir_), "--steps",     "1"};
    const Ran trained = run_axle(joined(training, tiny_quickstart()));
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Ran exported = run_axle({"export", dir_ / "run", "--out", model_});
    ASSERT_EQ(exported.code, 0) << exported.err;
    auto config = nlohmann::ordered_json::parse(read_file(model_ + "/config.json"));
    config["use_magic"] = true;
    replace_file(model_ + "/config.json", config.dump());
  }
  void expect_taken(const Arguments& command) const {
    const Ran refused = run_axle(command);
    EXPECT_EQ(refused.code, 2) << command[0];
    EXPECT_THAT(refused.err, HasSubstr("got use_magic; if they do not change what the model "
                                       "computes, give --ignore use_magic"))
        << command[0];
    const Ran taken = run_axle(joined(command, {"--ignore", "use_magic"}));
    EXPECT_EQ(taken.code, 0) << command[0] << taken.err;
  }
  TempDir dir_;
  std::string model_ = dir_ / "model";
};

TEST_F(IgnoreFields, AcceptedByVerbsThatTakeAModelAsTheRecipe) {
  expect_taken({"params", model_});
  expect_taken({"config", "show", model_});
}

TEST_F(IgnoreFields, AcceptedByVerbsThatTakeATrainedModel) {
  expect_taken({"import", model_, "--out", dir_ / "import"});
  expect_taken({"export", model_, "--out", dir_ / "again"});
  expect_taken({"generate", "--from", model_, "--prompt", "a", "--max-tokens", "1", "--backend",
                "interpreter"});
  expect_taken({"eval", "--from", model_, "--data", text_file(dir_), "--backend", "interpreter"});
  expect_taken({"train", "--init-from", model_, "--backend", "interpreter", "--data", "synthetic",
                "--steps", "1", "--dir", dir_ / "tuned", "--set", "input.seq_len=8", "--set",
                "input.batch_size=1", "--set", "evalers={}"});
}

TEST_F(IgnoreFields, RefusedWithoutAModelOfAnotherProgram) {
  const Ran recipe = run_axle({"params", "quickstart", "--ignore", "a"});
  EXPECT_EQ(recipe.code, 2);
  EXPECT_THAT(recipe.err, HasSubstr("--ignore a: expected a model of another program, as RECIPE or "
                                    "--init-from, got none"));
  const Ran run = run_axle({"generate", "--from", dir_ / "run", "--prompt", "a", "--ignore", "a"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("--ignore a: expected a model of another program, whose config "
                                 "has fields to leave out, got"));
}

}  // namespace
}  // namespace axle
