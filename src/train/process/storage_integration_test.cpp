// Training continues if nothing can be written, and reports that.
#include <gmock/gmock.h>

#include <functional>

#include "base/error.h"
#include "checkpoint/folder.h"
#include "testing/temp_dir.h"
#include "train/process/train_process_test.h"
#include "train/run_result_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Trainer::Config gated(std::vector<int64_t> steps) {
  Trainer::Config config = tiny_config();
  config.max_steps = 16;
  config.evalers.clear();
  config.checkpointer.mode = SaveMode::kBlocking;  // so that at a gate no save is under way
  config.writers["gate"] = Gate::Config{.steps = std::move(steps)};
  return config;
}

class FullDisk : public ::testing::Test {
 protected:
  const TempDir dir_;
  const std::filesystem::path run_ = dir_.path() / "run";
};

TEST_F(FullDisk, SavesAreMissedAndCountedUntilThereIsRoom) {
  TrainProcess whole(
      [] {
        auto c = gated({});
        c.writers.clear();
        return c;
      }(),
      dir_.path(), "whole");
  TrainProcess run(gated({5, 13}), dir_.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  run.limit_files(10);
  run.open_gate();
  ASSERT_TRUE(run.wait_at_gate(13)) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("WARNING: the checkpoint of step 8 was not saved: "));
  EXPECT_THAT(run.output(), HasSubstr("training goes on, 1 failed so far"));
  EXPECT_THAT(run.output(), HasSubstr("metrics.jsonl: cannot write"));
  EXPECT_EQ(state_of(run_).step, 4);  // the last good one stays
  run.unlimit_files();
  run.open_gate();
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("lines were lost\n"));
  EXPECT_EQ(whole.wait(), 0) << whole.output();
  EXPECT_EQ(state_of(run_).step, 16);
  EXPECT_EQ(state_of(run_).tensors, state_of(dir_.path() / "whole").tensors);
}

TEST_F(FullDisk, ARunThatCannotSaveItsEndFails) {
  TrainProcess run(gated({5}), dir_.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  run.limit_files(10);
  run.open_gate();
  EXPECT_EQ(run.wait(), static_cast<int>(ExitCode::kStorage)) << run.output();
  EXPECT_THAT(
      run.output(),
      HasSubstr(
          "checkpoints: expected the final state of step 16 to be saved, got 4 failed saves"));
  EXPECT_THAT(checkpoint_steps(run_ / "checkpoints"), ElementsAre(4));
  EXPECT_THAT(run.output(), HasSubstr("step 16/16"));
  // Once there is room again, the run resumes from step 4.
  Trainer::Config config = gated({});
  TrainProcess again(config, dir_.path(), "run");
  EXPECT_EQ(again.wait(), 0) << again.output();
  EXPECT_THAT(again.output(), HasSubstr("resumed from step 4\n"));
  expect_no_holes(run_, 16);
}

TEST_F(FullDisk, AFolderThatTakesNoFilesStopsNoTraining) {
  TrainProcess run(gated({5, 9}), dir_.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  // Puts a file in the way of the checkpoints. Permissions would not stop root.
  const std::filesystem::path checkpoints = run_ / "checkpoints", aside = run_ / "aside";
  std::filesystem::rename(checkpoints, aside);
  replace_file(checkpoints, "");
  run.open_gate();
  ASSERT_TRUE(run.wait_at_gate(9)) << run.output();
  std::filesystem::remove(checkpoints);
  std::filesystem::rename(aside, checkpoints);
  run.open_gate();
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("WARNING: the checkpoint of step 8 was not saved: "));
  EXPECT_THAT(run.output(), Not(HasSubstr("metrics are being lost")));
  EXPECT_THAT(checkpoint_steps(run_ / "checkpoints"), ElementsAre(4, 12, 16));
  expect_no_holes(run_, 16);
}

constexpr int kStorage = static_cast<int>(ExitCode::kStorage);

// Something that is removed or moved under a run, and the error that the run then reports.
struct Loss {
  const char* name;
  std::function<void(const std::filesystem::path& run)> make;
  const char* said;
};

class TakenAway : public FullDisk, public ::testing::WithParamInterface<Loss> {};

TEST_P(TakenAway, EndsTheRunAtOnceWithItsStateSaved) {
  TrainProcess run(gated({5}), dir_.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  GetParam().make(run_);
  run.open_gate();
  EXPECT_EQ(run.wait(), kStorage) << run.output();
  EXPECT_THAT(run.output(), HasSubstr(GetParam().said));
  EXPECT_THAT(run.output(), HasSubstr("the run failed after step 7, which is saved"));
  EXPECT_EQ(state_of(run_).step, 7);
  TrainProcess rest(gated({}), dir_.path(), "run");
  EXPECT_EQ(rest.wait(), 0) << rest.output();
  EXPECT_THAT(rest.output(), HasSubstr("resumed from step 7\n"));
  EXPECT_EQ(state_of(run_).step, 16);
}

INSTANTIATE_TEST_SUITE_P(
    All, TakenAway,
    ::testing::Values(
        Loss{"Folder", [](const auto& run) { std::filesystem::remove_all(run); },
             "run: expected the run's folder to stay in place, found it removed"},
        Loss{"MovedFolder",
             [](const auto& run) { std::filesystem::rename(run, run.string() + "_moved"); },
             "run: expected the run's folder to stay in place, found it removed"},
        Loss{"Metrics", [](const auto& run) { std::filesystem::remove(run / "metrics.jsonl"); },
             "metrics.jsonl: expected the file to stay in place during the run, found it removed"},
        Loss{"MovedMetrics",
             [](const auto& run) {
               std::filesystem::rename(run / "metrics.jsonl", run / "metrics.jsonl.1");
             },
             "metrics.jsonl: expected the file to stay in place during the run, found it removed"}),
    [](const auto& c) { return c.param.name; });

TEST_F(FullDisk, AFolderInThePlaceOfOursIsLeftAlone) {
  TrainProcess run(gated({5}), dir_.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  std::filesystem::rename(run_, dir_.path() / "moved");
  make_directories(run_);
  run.open_gate();
  EXPECT_EQ(run.wait(), kStorage) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("found it replaced by another folder, where nothing is"));
  EXPECT_TRUE(list_directory(run_).empty());
  EXPECT_EQ(state_of(dir_.path() / "moved").step, 4);
}

// The check of every step is also made at the end of the last one.
TEST_F(FullDisk, AFolderThatIsGoneAtTheEndIsSaid) {
  TrainProcess run(gated({16}), dir_.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(16)) << run.output();
  std::filesystem::remove_all(run_);
  run.open_gate();
  EXPECT_EQ(run.wait(), kStorage) << run.output();
  EXPECT_EQ(state_of(run_).step, 16);
}

TEST_F(FullDisk, AFolderIsHeldWithoutItsLockFile) {
  TrainProcess run(gated({5}), dir_.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  std::filesystem::remove(run_ / "lock");
  TrainProcess second(gated({}), dir_.path(), "run");
  EXPECT_EQ(second.wait(), kStorage);
  EXPECT_THAT(
      second.output(),
      HasSubstr("lock: expected a folder that no other run uses, got one in use by another"));
  run.open_gate();
  EXPECT_EQ(run.wait(), 0) << run.output();
  expect_no_holes(run_, 16);
}

TEST_F(FullDisk, AnotherRunIsKeptOutOfTheFolder) {
  TrainProcess run(gated({5}), dir_.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  TrainProcess second(gated({}), dir_.path(), "run");
  EXPECT_EQ(second.wait(), static_cast<int>(ExitCode::kStorage));
  EXPECT_THAT(
      second.output(),
      HasSubstr("lock: expected a folder that no other run uses, got one in use by process "));
  run.open_gate();
  EXPECT_EQ(run.wait(), 0) << run.output();
}

}  // namespace
}  // namespace axle
