// Runs with numbers that are not finite: no checkpoint ever holds such a number.
#include <fmt/format.h>

#include "checkpoint/folder.h"
#include "checkpoint/state_files.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "train/record/summary_writer.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class TrainerFinite : public TrainerTest {};

// A run whose steps are not finite: with this learning rate, no loss is finite after the first
// step.
Trainer::Config exploding(int64_t max_steps, OnNonFinite policy) {
  Trainer::Config config = config_of(max_steps);
  config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate =
      ConstantRate{.value = 1e30};
  config.evalers.clear();
  config.on_non_finite = policy;
  return config;
}

// Returns model and optimizer without the key, which changes even in a step that changes nothing
// else.
Tree<HostTensor> without_key(Tree<HostTensor> state) {
  state.erase("prng_key");
  return state;
}

TEST_F(TrainerFinite, ANonFiniteStepStopsTheRunAndKeepsTheStateBeforeIt) {
  EXPECT_EQ(train(exploding(1, OnNonFinite::kStop), "one").code, ExitCode::kOk);
  const Ended ended = train(exploding(20, OnNonFinite::kStop));
  EXPECT_EQ(ended.code, ExitCode::kValidationFailed);
  EXPECT_THAT(ended.error, HasSubstr("step 2: expected finite numbers, got loss "));
  EXPECT_THAT(ended.error, HasSubstr("the state without that step is saved as step"));
  EXPECT_EQ(without_key(state_of(run()).tensors), without_key(state_of(run("one")).tensors));
  EXPECT_EQ(state_of(run()).tensors.at("learner/count"), HostTensor::scalar(1));
  const auto records = metrics_of(run());
  EXPECT_TRUE(records.at(1).at("grad_norm").is_null());
  expect_no_holes(run(), state_of(run()).step);
  expect_no_holes(run(), state_of(run()).step);
}

// Else a queue that runs the command until it ends well would have steps left out in silence.
TEST_F(TrainerFinite, ARunThatWasStoppedGoesOnWhereThatIsSaid) {
  train(exploding(20, OnNonFinite::kStop));
  const int64_t step = state_of(run()).step;
  for (int i = 0; i < 2; ++i) {
    const Ended again = train(exploding(20, OnNonFinite::kStop));
    EXPECT_EQ(again.code, ExitCode::kValidationFailed);
    EXPECT_THAT(again.error, HasSubstr("manifest.json: the run stopped: step 2: expected finite "
                                       "numbers, got loss "));
    EXPECT_EQ(state_of(run()).step, step);
  }
  const Ended forced = train(exploding(20, OnNonFinite::kStop), "run", true, /*force=*/true);
  EXPECT_EQ(forced.code, ExitCode::kValidationFailed);
  EXPECT_THAT(forced.error, HasSubstr(fmt::format("step {}: expected finite", step + 1)));
  EXPECT_GT(state_of(run()).step, step);
  EXPECT_EQ(train(exploding(20, OnNonFinite::kSkip)).code, ExitCode::kOk);
  EXPECT_EQ(state_of(run()).step, 20);
  EXPECT_EQ(state_of(run()).metadata.at("stopped"), "");
}

TEST_F(TrainerFinite, AnEvaluationThatIsNotFiniteIsToldAndCostsNothing) {
  Trainer::Config config = exploding(1, OnNonFinite::kStop);
  config.evalers = config_of(1).evalers;
  config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate =
      ConstantRate{.value = 1e15};
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out,
              HasSubstr("WARNING: eval held_out at step 1: cross_entropy is not finite"));
  EXPECT_EQ(state_of(run()).step, 1);
}

TEST_F(TrainerFinite, NonFiniteStepsAreSkippedAndCounted) {
  train(exploding(1, OnNonFinite::kSkip), "one");
  const Ended ended = train(exploding(5, OnNonFinite::kSkip));
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out, HasSubstr("step 5: not finite: loss "));
  EXPECT_THAT(ended.out, HasSubstr("the state was kept, 1 such step so far\n"));
  EXPECT_THAT(ended.out, HasSubstr("the state was kept, 4 such steps so far\n"));
  const RestoredTensors state = state_of(run());
  EXPECT_EQ(state.metadata.at("skipped_steps"), "4");
  EXPECT_EQ(without_key(state.tensors), without_key(state_of(run("one")).tensors));
  expect_no_holes(run(), 5);
  EXPECT_EQ(metrics_of(run()).at(4).at("skipped"), 1);
  EXPECT_THAT(train(exploding(6, OnNonFinite::kSkip)).out, HasSubstr("5 such steps so far\n"));
}

// A schedule that is bad from step 3 on.
struct TurnsBad {
  std::string to = "1";  // text, since numbers of configs are finite
  Tensor operator()(const Step& step) const {
    return select(astype(step, DType::kF32) < 3.0, scalar(1e-2), std::stod(to));
  }
  AXLE_CONFIG(TurnsBad, to)
};
AXLE_REGISTER(TurnsBad)

// Bad updates that do not show in the loss or gradient of the same step. No later step repairs the
// state, so they end a run that skips steps, too.
TEST_F(TrainerFinite, WhatTheUpdateBringsInIsCaughtAtItsStepAndNamed) {
  Trainer::Config good = config_of(2);
  good.evalers.clear();
  good.checkpointer.every_steps = 1;
  good.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate = TurnsBad{.to = "0.01"};
  EXPECT_EQ(train(good, "good").code, ExitCode::kOk);
  for (const std::string to : {"nan", "inf", "-inf"}) {
    for (const bool rate : {true, false}) {
      Trainer::Config config = good;
      config.max_steps = 8;
      AdamW::Config& adamw = *config.learner.get_if<Learner>()->optimizer.get_if<AdamW>();
      (rate ? adamw.learning_rate : adamw.update_schedule) = TurnsBad{.to = to};
      if (!rate) adamw.learning_rate = ConstantRate{.value = 1};
      config.on_non_finite = rate ? OnNonFinite::kStop : OnNonFinite::kSkip;
      const std::string name = fmt::format("{} {}", to, rate);
      const Ended ended = train(config, name);
      EXPECT_EQ(ended.code, ExitCode::kValidationFailed) << ended.error;
      EXPECT_THAT(ended.error, HasSubstr("step 3: expected finite numbers, got model/decoder/"));
      EXPECT_THAT(ended.error,
                  HasSubstr("the state is not saved; the last good one is that of step 2"));
      EXPECT_THAT(checkpoint_steps(run(name) / "checkpoints"), ::testing::ElementsAre(1, 2));
      EXPECT_EQ(state_of(run(name)).tensors, state_of(run("good")).tensors);
    }
  }
}

TEST_F(TrainerFinite, AnUpdateThatIsNotFiniteBeforeTheFirstCheckpointLeavesNone) {
  Trainer::Config config = config_of(8);
  config.evalers.clear();
  config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate =
      TurnsBad{.to = "nan"};
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kValidationFailed);
  EXPECT_THAT(ended.error, HasSubstr("; the state could not be saved"));
  EXPECT_THAT(checkpoint_steps(run() / "checkpoints"), ::testing::IsEmpty());
}

// Fails when the record of step 2 is written. The step after it is under way then.
class FailsAtStep2 final : public SummaryWriter {
 public:
  struct Config {
    /// No field has a use.
    int64_t unused = 0;
    AXLE_CONFIG(FailsAtStep2, unused)
  };
  FailsAtStep2(const Config&, const Dims&, const Scope&) {}
  void write(const StepRecord& record) override {
    if (record.step == 2) throw StorageError("no room for step 2");
  }
  void flush() override {}
};
AXLE_REGISTER(FailsAtStep2)

TEST_F(TrainerFinite, ARunThatEndsForAnotherReasonSavesNoBadState) {
  for (const char* to : {"0.01", "nan"}) {
    Trainer::Config config = config_of(8);
    config.evalers.clear();
    config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate = TurnsBad{.to = to};
    config.writers = {{"failing", FailsAtStep2::Config{}}};
    const Ended ended = train(config, to);
    EXPECT_NE(ended.code, ExitCode::kOk);
    EXPECT_THAT(ended.error, HasSubstr("no room for step 2"));
    const auto steps = checkpoint_steps(run(to) / "checkpoints");
    if (std::string(to) == "nan")
      EXPECT_THAT(steps, ::testing::IsEmpty());
    else
      EXPECT_THAT(steps, ::testing::ElementsAre(3));
  }
}

// A state that was never finite ends the run at its first step, even if bad steps are skipped.
TEST_F(TrainerFinite, AStateThatWasNeverFiniteIsNotSaved) {
  for (const OnNonFinite policy : {OnNonFinite::kStop, OnNonFinite::kSkip}) {
    for (const int64_t steps : {1, 12}) {
      Trainer::Config config = config_of(steps);
      config.evalers.clear();
      config.on_non_finite = policy;
      // The largest random values are infinite.
      config.model.options.init = Init(
          VarianceScaling{.scale = 3e38, .fan = Fan::kNone, .distribution = Distribution::kNormal});
      const std::string name = fmt::format("{} {}", to_text(policy), steps);
      const Ended ended = train(config, name);
      EXPECT_EQ(ended.code, ExitCode::kValidationFailed) << name;
      EXPECT_THAT(ended.error,
                  ::testing::MatchesRegex(
                      "step 1: expected finite numbers, got NaN or infinity in model/.*"
                      " before this step; no later step repairs it; the state could not be "
                      "saved"));
      EXPECT_EQ(ended.err, "") << name;
      EXPECT_THAT(checkpoint_steps(run(name) / "checkpoints"), ::testing::IsEmpty());
      expect_no_holes(run(name), 1);
    }
  }
}

// The checkpoint is as a program with fewer checks may have left it.
TEST_F(TrainerFinite, ARestoredStateThatIsNotFiniteEndsTheRunAndStays) {
  const auto skipping = [](int64_t steps) {
    Trainer::Config config = config_of(steps);
    config.evalers.clear();
    config.on_non_finite = OnNonFinite::kSkip;
    return config;
  };
  ASSERT_EQ(train(skipping(2)).code, ExitCode::kOk);
  RestoredTensors saved = state_of(run());
  const std::string bad = "learner/optimizer/m/model/decoder/emb/weight";
  ASSERT_TRUE(saved.tensors.contains(bad));
  saved.tensors.at(bad).values<float>()[5] = -std::numeric_limits<float>::infinity();
  write_checkpoint(run() / "checkpoints", 2, saved.tensors, saved.metadata);
  const Ended ended = train(skipping(9));
  EXPECT_EQ(ended.code, ExitCode::kValidationFailed);
  EXPECT_THAT(ended.error, HasSubstr("step 3: expected finite numbers, got NaN or infinity in " +
                                     bad + " before this step"));
  EXPECT_THAT(checkpoint_steps(run() / "checkpoints"), ::testing::ElementsAre(2));
}

}  // namespace
}  // namespace axle
