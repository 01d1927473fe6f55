// Schedules made of other schedules.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "learn/schedule.h"

namespace axle {

/// A schedule for some steps.
struct Segment {
  /// The value within the segment; its first step is 1.
  Schedule schedule = ConstantRate{};
  /// Number of steps; none: all that are left, for the last segment alone.
  std::optional<NonNegative<int64_t>> num_steps = {};
  AXLE_CONFIG(Segment, schedule, num_steps)
};

/// One schedule after another. Each counts its own steps from 1, so that its values do not depend
/// on the others. A schedule in it must set its own end.
struct Segments {
  /// The segments in order.
  std::vector<Segment> segments = {};
  /// Throws ConfigError for no segment, and unless all but the last one set num_steps.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(Segments, segments)
};

/// A schedule from a step on.
struct Stage {
  /// The first step of the stage.
  NonNegative<int64_t> begin_step = 0;
  /// The value within the stage; begin_step is its step 0.
  Schedule schedule = ConstantRate{};
  AXLE_CONFIG(Stage, begin_step, schedule)
};

/// The stage that began last gives the value. Each schedule counts its own steps from 0. A schedule
/// in it must set its own end.
struct Stepwise {
  /// The stages in order; the first begins at step 0.
  std::vector<Stage> stages = {};
  /// Throws ConfigError for no stage, and unless the stages begin at 0 and then ascend.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(Stepwise, stages)
};

/// schedule(step) * f, where f rises linearly from `begin` at begin_step to 1, warmup_steps later:
/// gives any schedule a warm-up and a first step.
struct Warmup {
  /// The schedule, which sees the steps of the run.
  Schedule schedule = ConstantRate{};
  /// Number of steps of the warm-up; 0: the factor jumps to 1 after begin_step.
  NonNegative<int64_t> warmup_steps = 500;
  /// The last step with the factor `begin`.
  NonNegative<int64_t> begin_step = 0;
  /// The factor up to begin_step.
  Fraction begin = 0;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(Warmup, schedule, warmup_steps, begin_step, begin)
};

/// The product of the values of several schedules, which see the steps of the run.
struct ScheduleProduct {
  /// The schedules.
  std::vector<Schedule> factors = {};
  /// Throws ConfigError for no factor.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(ScheduleProduct, factors)
};

}  // namespace axle
