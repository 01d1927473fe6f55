// Tests `train --find-nan` from the command line: a run that overflows names the op.
#include <gmock/gmock.h>

#include <csignal>

#include "base/error.h"
#include "checkpoint/folder.h"
#include "cli/run_apart_test.h"
#include "cli/run_test.h"
#include "config/register.h"
#include "testing/needs_plugin.h"
#include "testing/temp_dir.h"
#include "train/record/summary_writer.h"

namespace axle {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Interrupts the run when the record of step 2 is written, which is before the search.
class InterruptAtStep2 final : public SummaryWriter {
 public:
  struct Config {
    /// No field has a use.
    int64_t unused = 0;
    AXLE_CONFIG(InterruptAtStep2, unused)
  };
  InterruptAtStep2(const Config&, const Dims&, const Scope&) {}
  void write(const StepRecord& record) override {
    if (record.step == 2) ::raise(SIGINT);
  }
  void flush() override {}
};
AXLE_REGISTER(InterruptAtStep2)

class FindNan : public ::testing::Test {
 protected:
  // Trains with a learning rate that makes the parameters too large for the second step.
  Ran train(const std::string& backend, const Arguments& more) {
    return run_axle(arguments(backend, more));
  }
  Arguments arguments(const std::string& backend, const Arguments& more) {
    const Arguments training = {"train",  "quickstart", "--backend",
                                backend,  "--dir",      dir_ / "run",
                                "--data", "synthetic",  "--steps",
                                "4",      "--set",      "learner.optimizer.learning_rate=1e30"};
    return joined(joined(training, tiny_quickstart()), more);
  }
  // Expects that the run names an op of the model and its operands, and keeps the step before.
  void expect_found(const Ran& ran) {
    EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kValidationFailed)) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("step 2: not finite; searching for the op"));
    EXPECT_THAT(ran.out, ContainsRegex("step 2: the first (NaN|Inf) is made by [a-z_]+ in model"));
    EXPECT_THAT(ran.out, ContainsRegex("operand 0, f32\\[[0-9, ]*\\] of [a-z_/0-9]+ \\([^)]*\\): "
                                       "min -?[0-9.e+]+, max -?[0-9.e+]+, mean "));
    EXPECT_THAT(ran.err, HasSubstr("step 2: expected finite numbers, got loss "));
    EXPECT_THAT(ran.err, HasSubstr("the state without that step is saved as step 2"));
    EXPECT_FALSE(checkpoint_steps((dir_ / "run/checkpoints")).empty());
  }
  TempDir dir_;
};

TEST_F(FindNan, TheInterpreterNamesTheOp) { expect_found(train("interpreter", {"--find-nan"})); }

TEST_F(FindNan, ThePluginNamesTheOp) {
  AXLE_NEEDS_PLUGIN("cpu");
  expect_found(train("cpu", {"--find-nan"}));
}

TEST_F(FindNan, ALayerOfALoopIsNamedWithItsNumber) {
  const Ran ran = train("interpreter", {"--find-nan", "--set", "model.decoder.layers.num_layers=2",
                                        "--set", "on_non_finite=skip"});
  expect_found(ran);
}

// The parameters are finite until the step multiplies the update by an infinite factor.
TEST_F(FindNan, AnUpdateIsSearchedToo) {
  const Ran ran =
      train("interpreter", {"--find-nan", "--set", "learner.optimizer.learning_rate=3e38"});
  EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kValidationFailed)) << ran.err;
  EXPECT_THAT(ran.err, ContainsRegex("step 1: expected finite numbers, got model/.* or its learner "
                                     "state after the update.*; the state could not be saved"));
  EXPECT_THAT(ran.out, ContainsRegex("step 1: the first (NaN|Inf) is made by [a-z_]+ in learner"));
}

// The advice names no setting that the run has already.
TEST_F(FindNan, ErrorAdvisesHowToContinue) {
  const Ran stopped = train("interpreter", {"--find-nan"});
  EXPECT_THAT(stopped.err, HasSubstr("is saved as step 2 (leave out --find-nan and set "
                                     "on_non_finite=skip to continue)\n"));
  const Arguments skip = {"--set", "on_non_finite=skip"};
  const Ran again = train("interpreter", joined({"--find-nan"}, skip));
  EXPECT_THAT(again.err, HasSubstr("(leave out --find-nan to continue)\n"));
  EXPECT_EQ(train("interpreter", skip).code, 0);
}

// The search may compile for minutes, which nothing can interrupt.
TEST_F(FindNan, ASignalEndsTheSearchWithTheStateSaved) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = end_of(
      arguments("interpreter", {"--find-nan", "--set", "writers={stop: InterruptAtStep2}"}), [] {});
  const std::string out = ::testing::internal::GetCapturedStdout(),
                    err = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, static_cast<int>(ExitCode::kInterruptedAndSaved)) << out << err;
  EXPECT_THAT(err, HasSubstr("stopped by a signal before the op was found; the state is saved\n"));
  EXPECT_THAT(out, ::testing::Not(HasSubstr("is made by")));
  EXPECT_THAT(checkpoint_steps(dir_ / "run/checkpoints"), ::testing::ElementsAre(2));
  // The checkpoint says why the run ended.
  EXPECT_THAT(train("interpreter", {}).err, HasSubstr("step 2: expected finite numbers"));
}

TEST_F(FindNan, SearchesOnlyWithTheFlag) {
  const Ran ran = train("interpreter", {});
  EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kValidationFailed));
  EXPECT_THAT(ran.out, ::testing::Not(HasSubstr("is made by")));
  EXPECT_THAT(ran.err, HasSubstr(" (set on_non_finite=skip to continue)\n"));
}

}  // namespace
}  // namespace axle
