#include <gmock/gmock.h>

#include <cmath>

#include "learn/learner.h"
#include "learn/optimizers/sgd.h"
#include "learn/schedules/schedules.h"
#include "testing/error_of.h"
#include "transform/trace.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

double at(const Schedule& schedule, int32_t step) {
  const auto value = [&](const Values& v) { return Values{schedule(v[0])}; };
  return eval(value, {HostTensor::scalar(step)})[0].at(0);
}

std::string refusal(const Schedule& schedule) {
  return error_of<ConfigError>([&] { check_schedule(schedule, "rate"); });
}

TEST(Segments, EachCountsItsOwnStepsFromOne) {
  const Segments schedule{
      .segments = {{Polynomial{.begin_value = 0, .end_step = 4, .end_value = 1}, 4},
                   {ConstantRate{.value = 1}, 3},
                   {Polynomial{.begin_value = 1, .end_step = 2, .end_value = 0.5}, {}}}};
  const std::vector<double> expected = {0.25, 0.5, 0.75, 1, 1, 1, 1, 0.75, 0.5, 0.5};
  for (int32_t step = 1; step <= 10; ++step)
    EXPECT_FLOAT_EQ(at(schedule, step), expected[step - 1]) << step;
}

TEST(Segments, MistakesNameTheSegment) {
  const Schedule one = ConstantRate{};
  EXPECT_EQ(refusal(Segments{}), "rate.segments: expected at least one segment, got none");
  EXPECT_EQ(refusal(Segments{.segments = {{one, {}}, {one, {}}}}),
            "rate.segments[0].num_steps: expected a number, got none before the last segment");
  EXPECT_EQ(refusal(Segments{.segments = {{one, 3}}}),
            "rate.segments[0].num_steps: expected none in the last segment, got a number");
  EXPECT_THAT(refusal(Segments{.segments = {{one, 3}, {CosineWithWarmup{.peak = 1.0}, {}}}}),
              HasSubstr("rate.segments[1].schedule.max_step: expected the last step"));
}

TEST(Segments, SchedulesOfSegmentsDoNotFollowTheRun) {
  Learner::Config config{
      .optimizer =
          Sgd::Config{.learning_rate = Segments{
                          .segments = {{ConstantRate{.value = 1}, 10},
                                       {LinearWithWarmup{.peak = 1.0, .warmup_steps = 0}, {}}}}}};
  set_schedule_ends(config, 100);
  const auto& rate = config.optimizer.get_if<Sgd>()->learning_rate;
  const auto* segments = rate.functor().get_if<Segments>();
  EXPECT_FALSE(segments->segments[1].schedule.functor().get_if<LinearWithWarmup>()->max_step);

  config.optimizer.get_if<Sgd>()->learning_rate =
      Segments{.segments = {{Polynomial{.end_step = 10, .end_value = 1}, 10},
                            {Polynomial{.begin_value = 1, .end_step = 50, .end_value = 0.1}, {}}}};
  EXPECT_THAT(schedule_problems(config, 100, "learner"), IsEmpty());
}

TEST(Stepwise, StageThatBeganLastApplies) {
  const Stepwise schedule{
      .stages = {{0, ConstantRate{.value = 1}},
                 {3, Polynomial{.begin_value = 4, .end_step = 2, .end_value = 2}},
                 {6, ConstantRate{.value = 0.5}}}};
  const std::vector<double> expected = {1, 1, 1, 4, 3, 2, 0.5, 0.5};
  for (int32_t step = 0; step < 8; ++step)
    EXPECT_FLOAT_EQ(at(schedule, step), expected[step]) << step;
}

TEST(Stepwise, MistakesNameTheStage) {
  const Schedule one = ConstantRate{};
  EXPECT_EQ(refusal(Stepwise{}), "rate.stages: expected at least one stage, got none");
  EXPECT_EQ(refusal(Stepwise{.stages = {{2, one}}}),
            "rate.stages[0].begin_step: expected 0, got 2");
  EXPECT_EQ(refusal(Stepwise{.stages = {{0, one}, {5, one}, {4, one}}}),
            "rate.stages[2].begin_step: expected at least 5, got 4");
}

TEST(Warmup, AddsAWarmupAndABeginStepToAnySchedule) {
  const Warmup schedule{.schedule = Exponential{.begin_value = 1, .end_step = 10, .end_value = 0.1},
                        .warmup_steps = 4,
                        .begin_step = 2,
                        .begin = 0.2};
  const auto inner = [](double step) { return std::pow(0.1, std::min(step, 10.0) / 10); };
  EXPECT_FLOAT_EQ(at(schedule, 1), 0.2 * inner(1));
  EXPECT_FLOAT_EQ(at(schedule, 2), 0.2 * inner(2));
  EXPECT_FLOAT_EQ(at(schedule, 4), 0.6 * inner(4));
  EXPECT_FLOAT_EQ(at(schedule, 6), inner(6));
  EXPECT_FLOAT_EQ(at(schedule, 20), 0.1);
  const Warmup late{.schedule = ConstantRate{.value = 3}, .warmup_steps = 0, .begin_step = 2};
  EXPECT_EQ(at(late, 2), 0);
  EXPECT_EQ(at(late, 3), 3);
}

TEST(WarmupStableDecay, RisesStaysAndFalls) {
  const WarmupStableDecay schedule{
      .peak = 2.0, .warmup_steps = 4, .decay_begin_step = 10, .max_step = 14, .alpha = 0.1};
  EXPECT_FLOAT_EQ(at(schedule, 1), 0.5);
  EXPECT_FLOAT_EQ(at(schedule, 4), 2);
  EXPECT_FLOAT_EQ(at(schedule, 10), 2);
  EXPECT_FLOAT_EQ(at(schedule, 12), 1.1);
  EXPECT_FLOAT_EQ(at(schedule, 14), 0.2);
  EXPECT_FLOAT_EQ(at(schedule, 99), 0.2);
  EXPECT_THAT(refusal(WarmupStableDecay{
                  .peak = 1.0, .warmup_steps = 4, .decay_begin_step = 3, .max_step = 14}),
              HasSubstr("rate.decay_begin_step: must be from warmup_steps = 4 on and before "
                        "max_step = 14, got 3"));
}

TEST(CosineWithWarmup, MayStayAtItsPeakBeforeItFalls) {
  const CosineWithWarmup schedule{
      .peak = 1.0, .warmup_steps = 2, .max_step = 10, .decay_begin_step = 6};
  EXPECT_FLOAT_EQ(at(schedule, 6), 1);
  EXPECT_FLOAT_EQ(at(schedule, 8), 0.5);
  EXPECT_NEAR(at(schedule, 10), 0, 1e-6);
  EXPECT_THAT(refusal(CosineWithWarmup{
                  .peak = 1.0, .warmup_steps = 2, .max_step = 10, .decay_begin_step = 10}),
              HasSubstr("rate.decay_begin_step: must be before max_step, got 10 and 10"));
}

TEST(InverseSqrt, RisesLinearlyOrStaysThenFalls) {
  const InverseSqrt rising{.scale = 6, .warmup_steps = 4};
  EXPECT_FLOAT_EQ(at(rising, 0), 0);
  EXPECT_FLOAT_EQ(at(rising, 1), 0.75);
  EXPECT_FLOAT_EQ(at(rising, 4), 3);
  EXPECT_FLOAT_EQ(at(rising, 36), 1);
  const InverseSqrt flat{.scale = 6, .warmup_steps = 4, .warmup = WarmupShape::kConstant};
  EXPECT_FLOAT_EQ(at(flat, 1), 3);
  EXPECT_FLOAT_EQ(at(flat, 36), 1);
  EXPECT_FLOAT_EQ(at(InverseSqrt{.scale = 6, .warmup_steps = 4, .begin_step = -1}, 3), 3);
}

TEST(DecaySchedules, BeginAtZero) {
  EXPECT_FLOAT_EQ(at(AdafactorDecay{}, 1), 0);
  EXPECT_FLOAT_EQ(at(AdafactorDecay{}, 10), 1 - std::pow(10.0, -0.8));
  EXPECT_FLOAT_EQ(at(AdafactorDecay{.begin_step = 100}, 50), 0);
  EXPECT_FLOAT_EQ(at(AdafactorDecay{.begin_step = 100}, 110), 1 - std::pow(10.0, -0.8));
  EXPECT_FLOAT_EQ(at(DebiasedDecay{.decay = 0.9}, 1), 0);
  EXPECT_FLOAT_EQ(at(DebiasedDecay{.decay = 0.9}, 2), 0.9 * (1 - 0.9) / (1 - 0.81));
}

}  // namespace
}  // namespace axle
