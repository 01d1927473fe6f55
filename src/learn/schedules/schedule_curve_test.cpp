#include <gmock/gmock.h>

#include "config/print.h"
#include "learn/schedule.h"
#include "learn/schedules/schedules.h"
#include "testing/error_of.h"

namespace axle {
namespace {

const std::vector<int64_t> kSteps = {1, 5, 10, 11, 50, 100, 1000};
// Rise to 3 in 10 steps, or are 3 from the start, then fall.
const std::vector<Schedule> kRiseAndFall = {
    CosineWithWarmup{.peak = 3.0, .warmup_steps = 10, .max_step = 100},
    CosineWithWarmup{.peak = 3.0, .warmup_steps = 10},  // ends with its run
    LinearWithWarmup{.peak = 3.0, .warmup_steps = 10, .max_step = 100, .end = 0.5},
    WarmupStableDecay{.peak = 3.0, .warmup_steps = 10, .decay_begin_step = 50, .max_step = 100},
    InverseSqrt{.scale = 3 * std::sqrt(10.0), .warmup_steps = 10},
    Warmup{.schedule = Polynomial{.begin_step = 50, .begin_value = 3, .end_step = 100},
           .warmup_steps = 10},
    Segments{.segments = {{Polynomial{.end_step = 10, .end_value = 3}, 10},
                          {ConstantRate{.value = 3}, 40},
                          {Exponential{.begin_value = 3, .end_step = 50, .end_value = 1}, {}}}},
    ScheduleProduct{.factors = {InverseSqrt{.scale = std::sqrt(10.0), .warmup_steps = 10},
                                ConstantRate{.value = 3}}}};

TEST(WithoutFall, KeepsTheRiseAndThePeak) {
  for (const Schedule& schedule : kRiseAndFall) {
    SCOPED_TRACE(schedule.name());
    const Schedule flat = without_fall(schedule);
    EXPECT_EQ(peak_of(schedule), 3);
    for (const int64_t step : kSteps)
      EXPECT_FLOAT_EQ(value_at(flat, step), step < 10 ? 0.3 * step : 3) << step;
    EXPECT_EQ(to_string(Warmup{.schedule = without_fall(flat)}),
              to_string(Warmup{.schedule = flat}));
  }
  for (const Schedule& schedule :
       {Schedule(Polynomial{.begin_value = 3, .end_step = 100}),
        Schedule(InverseSqrt{.scale = 6, .warmup_steps = 4, .warmup = WarmupShape::kConstant})}) {
    const Schedule flat = without_fall(schedule);
    ASSERT_EQ(flat.name(), "ConstantRate");
    for (const int64_t step : kSteps) EXPECT_FLOAT_EQ(value_at(flat, step), 3);
  }
}

TEST(WithoutFall, LeavesWhatDoesNotFallOrHasNoPeak) {
  for (const Schedule& schedule :
       {Schedule(ConstantRate{.value = 2}), Schedule(ConstantWithWarmup{.peak = 2.0}),
        Schedule(Polynomial{.begin_value = 1, .end_step = 9, .end_value = 2}),
        Schedule(CosineWithWarmup{}), Schedule(Segments{})}) {
    EXPECT_EQ(to_string(Warmup{.schedule = without_fall(schedule)}),
              to_string(Warmup{.schedule = schedule}));
  }
  EXPECT_EQ(peak_of(CosineWithWarmup{}), std::nullopt);
}

TEST(ProductOfSchedules, HasTheProductOfTheValues) {
  for (Schedule schedule : kRiseAndFall) {
    Warmup ended{.schedule = schedule};
    set_schedule_ends(ended, 100);
    schedule = ended.schedule;
    SCOPED_TRACE(schedule.name());
    for (const Schedule& factor : {Schedule(ConstantRate{.value = 0.25}),
                                   Schedule(ConstantRate{.value = 1}), kRiseAndFall[0]}) {
      for (const Schedule& both : {product(schedule, factor), product(factor, schedule)}) {
        for (const int64_t step : kSteps) {
          EXPECT_FLOAT_EQ(value_at(both, step), value_at(schedule, step) * value_at(factor, step))
              << step;
        }
      }
    }
  }
}

TEST(ProductOfSchedules, ConstantIsFoldedIntoTheOtherSchedule) {
  const Schedule constant = ConstantRate{.value = 0.5};
  EXPECT_EQ(product(constant, kRiseAndFall[0]).name(), "CosineWithWarmup");
  EXPECT_EQ(product(kRiseAndFall[2], constant).name(), "LinearWithWarmup");
  EXPECT_EQ(product(constant, constant).name(), "ConstantRate");
  EXPECT_EQ(product(kRiseAndFall[4], ConstantRate{.value = 1}).name(), "InverseSqrt");
}

TEST(ScheduleProduct, MistakesNameTheFactor) {
  const auto refusal = [](const Schedule& schedule) {
    return error_of<ConfigError>([&] { check_schedule(schedule, "rate"); });
  };
  EXPECT_EQ(refusal(ScheduleProduct{}), "rate.factors: expected at least one schedule, got none");
  EXPECT_THAT(refusal(ScheduleProduct{.factors = {ConstantRate{}, CosineWithWarmup{.peak = 1.0}}}),
              ::testing::HasSubstr("rate.factors[1].max_step: expected the last step"));
  EXPECT_EQ(refusal(Warmup{.schedule = ScheduleProduct{}}),
            "rate.schedule.factors: expected at least one schedule, got none");
}

}  // namespace
}  // namespace axle
