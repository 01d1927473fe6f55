// SIGTERM and Ctrl-C: the run saves, ends with the code that says so, and can go on.
#include <gmock/gmock.h>

#include <csignal>

#include "base/exit_code.h"
#include "testing/temp_dir.h"
#include "train/run_result_test.h"
#include "train/tiny_config_test.h"
#include "train/train_process_test.h"

namespace axle {
namespace {

using testing::HasSubstr;

struct SignalCase {
  int number;
  ExitCode code;
};

class Signals : public testing::TestWithParam<SignalCase> {};

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
  run.open_gate();
  EXPECT_EQ(run.wait(), static_cast<int>(GetParam().code)) << run.output();
  // The record of a step is read while the next one runs.
  EXPECT_THAT(run.output(), HasSubstr("stopped by a signal after step 6"));
  EXPECT_EQ(state_of(dir.path() / "stopped").step, 6);
  expect_no_holes(dir.path() / "stopped", 6);

  TrainProcess rest(config, dir.path(), "stopped");
  EXPECT_EQ(rest.wait(), 0) << rest.output();
  EXPECT_THAT(rest.output(), HasSubstr("resumed from step 6\n"));
  ASSERT_EQ(whole.wait(), 0) << whole.output();
  expect_same_run(dir.path() / "stopped", dir.path() / "whole");
}

INSTANTIATE_TEST_SUITE_P(Both, Signals,
                         testing::Values(SignalCase{SIGTERM, ExitCode::kTerminatedAndSaved},
                                         SignalCase{SIGINT, ExitCode::kInterruptedAndSaved}),
                         [](const auto& c) {
                           return c.param.number == SIGTERM ? "Terminate" : "Interrupt";
                         });

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
