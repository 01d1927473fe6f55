// Signals that ask a run to stop: the run saves its state, ends with the exit code of the signal,
// and can be resumed.
#include <gmock/gmock.h>

#include <csignal>
#include <cstring>

#include "base/error.h"
#include "checkpoint/folder.h"
#include "testing/needs_plugin.h"
#include "testing/temp_dir.h"
#include "train/process/train_process_test.h"
#include "train/run_result_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

struct SignalCase {
  int number;
  ExitCode code;
};

constexpr std::string_view kHeard = "stopping as soon as possible; Ctrl-C again ends at once\n";

class Signals : public ::testing::TestWithParam<SignalCase> {};

TEST_P(Signals, SaveAndEndAndGoOn) {
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.max_steps = 14;
  config.evalers.clear();
  config.checkpointer.every_steps = 100;
  TrainProcess whole(config, dir.path(), "whole");

  Trainer::Config gated = config;
  gated.writers["gate"] = Gate::Config{.steps = {5}};
  TrainProcess run(gated, dir.path(), "stopped");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  run.signal(GetParam().number);
  ASSERT_TRUE(run.wait_for(kHeard)) << run.output();
  run.open_gate();
  EXPECT_EQ(run.wait(), static_cast<int>(GetParam().code)) << run.output();
  // The record of a step is read while the next step runs.
  EXPECT_THAT(run.output(), HasSubstr("stopped by a signal after step 6"));
  EXPECT_EQ(state_of(dir.path() / "stopped").step, 6);
  expect_no_holes(dir.path() / "stopped", 6);

  TrainProcess rest(config, dir.path(), "stopped");
  EXPECT_EQ(rest.wait(), 0) << rest.output();
  EXPECT_THAT(rest.output(), HasSubstr("resumed from step 6\n"));
  ASSERT_EQ(whole.wait(), 0) << whole.output();
  expect_same_run(dir.path() / "stopped", dir.path() / "whole");
}

TEST_P(Signals, BeforeTheFirstStepEndWithNothingToSave) {
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.max_steps = 5;
  TrainProcess whole(config, dir.path(), "whole");
  Trainer::Config gated = config;
  gated.writers["gate"] = Gate::Config{.steps = {0}};
  TrainProcess run(gated, dir.path(), "stopped");
  ASSERT_TRUE(run.wait_at_gate(0)) << run.output();
  run.signal(GetParam().number);
  ASSERT_TRUE(run.wait_for(kHeard)) << run.output();
  run.open_gate();
  EXPECT_EQ(run.wait(), static_cast<int>(GetParam().code)) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("stopped by a signal before step 1, with nothing new"));
  EXPECT_THAT(checkpoint_steps(dir.path() / "stopped" / "checkpoints"), ::testing::IsEmpty());

  TrainProcess rest(config, dir.path(), "stopped");
  EXPECT_EQ(rest.wait(), 0) << rest.output();
  ASSERT_EQ(whole.wait(), 0) << whole.output();
  expect_same_run(dir.path() / "stopped", dir.path() / "whole");
}

TEST_P(Signals, AfterARestoreLeaveTheCheckpointAsItIs) {
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.max_steps = 4;
  TrainProcess first(config, dir.path(), "run");
  ASSERT_EQ(first.wait(), 0) << first.output();
  const std::filesystem::path checkpoint =
      checkpoint_folder(dir.path() / "run" / "checkpoints", 4) / "data_00000.bin";
  const auto written = std::filesystem::last_write_time(checkpoint);

  config.max_steps = 8;
  config.writers["gate"] = Gate::Config{.steps = {0}};
  TrainProcess run(config, dir.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(0)) << run.output();
  run.signal(GetParam().number);
  ASSERT_TRUE(run.wait_for(kHeard)) << run.output();
  run.open_gate();
  EXPECT_EQ(run.wait(), static_cast<int>(GetParam().code)) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("resumed from step 4\n"));
  EXPECT_THAT(run.output(), HasSubstr("stopped by a signal before step 5, with nothing new"));
  EXPECT_EQ(state_of(dir.path() / "run").step, 4);
  EXPECT_EQ(std::filesystem::last_write_time(checkpoint), written);
}

TEST_P(Signals, WhileItCompilesEndTheRunBehindIt) {
  AXLE_NEEDS_PLUGIN("cpu");
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.max_steps = 1;
  config.evalers.clear();
  config.writers["gate"] = Gate::Config{.compiler = true};
  TrainProcess run(config, dir.path(), "stopped", "cpu");
  ASSERT_TRUE(run.wait_at_compiler()) << run.output();
  run.signal(GetParam().number);
  EXPECT_TRUE(run.wait_for(kHeard)) << run.output();  // while it compiles, not afterwards
  run.open_gate();
  EXPECT_EQ(run.wait(), static_cast<int>(GetParam().code)) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("compiled the step for 1 device"));
  EXPECT_THAT(run.output(), HasSubstr("stopped by a signal before step 1, with nothing new"));
}

INSTANTIATE_TEST_SUITE_P(All, Signals,
                         ::testing::Values(SignalCase{SIGTERM, ExitCode::kTerminatedAndSaved},
                                           SignalCase{SIGHUP, ExitCode::kTerminatedAndSaved},
                                           SignalCase{SIGUSR1, ExitCode::kTerminatedAndSaved},
                                           SignalCase{SIGXCPU, ExitCode::kTerminatedAndSaved},
                                           SignalCase{SIGINT, ExitCode::kInterruptedAndSaved}),
                         [](const auto& c) { return ::sigabbrev_np(c.param.number); });

// A program under nohup, or in a background job of a script, starts with ignored signals.
TEST_P(Signals, IgnoredSignalsEndNothing) {
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.max_steps = 7;
  config.writers["gate"] = Gate::Config{.steps = {5}};
  const auto before = std::signal(GetParam().number, SIG_IGN);  // the new process inherits it
  TrainProcess run(config, dir.path(), "run");
  std::signal(GetParam().number, before);
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  run.signal(GetParam().number);
  run.open_gate();
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_THAT(run.output(), ::testing::Not(HasSubstr("stopping")));
  EXPECT_EQ(state_of(dir.path() / "run").step, 7);
}

// Expects that a run takes all its steps after its console is lost in the middle.
void expect_goes_on(void (TrainProcess::*lose_console)(), int (TrainProcess::*wait)()) {
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.max_steps = 9;
  config.writers["gate"] = Gate::Config{.steps = {5}};
  TrainProcess run(config, dir.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  (run.*lose_console)();
  run.open_gate();
  EXPECT_EQ((run.*wait)(), 0);
  EXPECT_EQ(state_of(dir.path() / "run").step, 9);
  expect_no_holes(dir.path() / "run", 9);
}

TEST(Signals, ALostConsoleEndsNothing) {
  expect_goes_on(&TrainProcess::close_output, &TrainProcess::wait);
}

// Standard output as in `axle train 2>&1 | less`, while less does not read.
TEST(Signals, AConsoleThatTakesNothingHoldsUpNothing) {
  expect_goes_on(&TrainProcess::fill_output, &TrainProcess::wait_unread);
}

TEST_P(Signals, SaveAndEndWhereTheConsoleTakesNothing) {
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.checkpointer.every_steps = 100;
  config.writers["gate"] = Gate::Config{.steps = {5}};
  TrainProcess run(config, dir.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  run.fill_output();
  run.signal(GetParam().number);
  run.open_gate();
  EXPECT_EQ(run.wait_unread(), static_cast<int>(GetParam().code));
  EXPECT_EQ(state_of(dir.path() / "run").step, 6);
  expect_no_holes(dir.path() / "run", 6);
}

TEST(Signals, ASecondInterruptEndsTheStartAtOnce) {
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.writers["gate"] = Gate::Config{.steps = {0}};
  TrainProcess run(config, dir.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(0)) << run.output();
  run.signal(SIGTERM);
  ASSERT_TRUE(run.wait_for(kHeard)) << run.output();
  run.signal(SIGTERM);  // launchers repeat it; the run still ends in order
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 130) << run.output();
}

TEST(Signals, ASecondInterruptEndsAtOnce) {
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.checkpointer.mode = SaveMode::kBlocking;
  config.writers["gate"] = Gate::Config{.steps = {5, 6}};
  TrainProcess run(config, dir.path(), "run");
  ASSERT_TRUE(run.wait_at_gate(5)) << run.output();
  run.signal(SIGINT);
  run.open_gate();
  ASSERT_TRUE(run.wait_at_gate(6)) << run.output();  // while it saves
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 130) << run.output();
  EXPECT_EQ(state_of(dir.path() / "run").step, 4);
}

}  // namespace
}  // namespace axle
