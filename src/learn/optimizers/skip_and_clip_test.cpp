#include <gmock/gmock.h>

#include <limits>

#include "learn/optimizers/optimizer_run_test.h"
#include "learn/optimizers/sgd.h"
#include "learn/optimizers/wrapping_optimizers.h"
#include "learn/schedules/schedules.h"

namespace axle {
namespace {

const HostTree kZero = {{"w", HostTensor({2}, {0.0f, 0.0f})}};
HostTree gradient(float x) { return {{"w", HostTensor({2}, {0.6f * x, 0.8f * x})}}; }  // norm x

Child<Optimizer> falling_sgd() {
  return Sgd::Config{.learning_rate = Polynomial{.begin_value = 1, .end_step = 10}};
}

TEST(SkipAndClip, ClipsLargeNorms) {
  OptimizerRun run(SkipAndClip::Config{.inner = falling_sgd(), .max_norm = 2}, kZero);
  run.step(gradient(10));
  EXPECT_NEAR(run.params.at("w").at(1), -0.9 * 0.8 * 2, 1e-6);
  run.step(gradient(1));
  EXPECT_NEAR(run.params.at("w").at(1), -0.9 * 0.8 * 2 - 0.8 * 0.8, 1e-6);
}

// Named alone, as in --set learner.optimizer=SkipAndClip, it does both.
TEST(SkipAndClip, DefaultsClipAndSkip) {
  OptimizerRun run(SkipAndClip::Config{.inner = falling_sgd()}, kZero);
  run.step(gradient(10));
  EXPECT_NEAR(run.params.at("w").at(1), -0.9 * 0.8, 1e-6) << "clipped to a norm of 1";
  for (int i = 0; i < 500; ++i) run.step(gradient(i % 2 == 0 ? 1.0f : 2.0f));
  EXPECT_EQ(run.metric("skipped_updates"), 0);
  run.step(gradient(1000));
  EXPECT_EQ(run.metric("skipped_updates"), 1);
}

TEST(SkipAndClip, AnAbnormalGradientChangesNothing) {
  OptimizerRun run(SkipAndClip::Config{.inner = falling_sgd(), .drop_norm = FixedNorm{.value = 5}},
                   kZero);
  run.step(gradient(1));
  const HostTree params = run.params, state = run.state;
  const float kInfinity = std::numeric_limits<float>::infinity();
  for (const float norm : {5.0f, 100.0f, kInfinity}) run.step(gradient(norm));
  EXPECT_EQ(run.params, params);
  EXPECT_EQ(run.metric("skipped_updates"), 3);
  EXPECT_EQ(run.state.at("count"), state.at("count"));
  EXPECT_EQ(run.state.at("norm_mean"), state.at("norm_mean"));
  // The schedule of the inner optimizer counts its own updates: this is its second.
  run.step(gradient(1));
  EXPECT_NEAR(run.metric("learning_rate"), 0.8, 1e-6);
}

// The statistics are from an unbiased moving mean, written out.
TEST(SkipAndClip, KeepsMovingStatisticsOfTheNorms) {
  constexpr double kDecay = 0.9;
  OptimizerRun run(SkipAndClip::Config{.inner = falling_sgd(), .norm_decay = kDecay}, kZero);
  double weights = 0, sum = 0, squares = 0;
  for (const double norm : {3.0, 1.0, 4.0, 1.5}) {
    run.step(gradient(static_cast<float>(norm)));
    weights = kDecay * weights + 1;
    sum = kDecay * sum + norm;
    squares = kDecay * squares + norm * norm;
    EXPECT_NEAR(run.state.at("norm_mean").at(0), sum / weights, 1e-5);
    EXPECT_NEAR(run.state.at("norm_square_mean").at(0), squares / weights, 1e-5);
  }
}

TEST(SkipAndClip, ThresholdsFollowTheStatistics) {
  OptimizerRun mean(
      SkipAndClip::Config{.inner = falling_sgd(), .drop_norm = TimesMeanNorm{.multiplier = 3}},
      kZero);
  for (const float norm : {100.0f, 100.0f, 299.0f}) mean.step(gradient(norm));
  EXPECT_EQ(mean.metric("skipped_updates"), 0);  // the first norm is never too large
  mean.step(gradient(1000));
  EXPECT_EQ(mean.metric("skipped_updates"), 1);

  OptimizerRun deviation(
      SkipAndClip::Config{.inner = falling_sgd(),
                          .drop_norm = MeanPlusDeviations{.multiplier = 2, .min_count = 3}},
      kZero);
  for (const float norm : {1.0f, 3.0f, 2.0f}) deviation.step(gradient(norm));
  EXPECT_EQ(deviation.metric("skipped_updates"), 0);
  deviation.step(gradient(3.5f));  // mean 2, deviation about 0.8
  EXPECT_EQ(deviation.metric("skipped_updates"), 0);
  deviation.step(gradient(5));
  EXPECT_EQ(deviation.metric("skipped_updates"), 1);
}

}  // namespace
}  // namespace axle
