// Schedules of the learning rate: by a formula, with a warm-up, and in segments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/text/text.h"
#include "config/fields.h"
#include "learn/schedule.h"

namespace axle {

// Schedules of the learning rate by a formula: linear, cosine, exponential, inverse square root,
// polynomial.

/// Returns the largest value of the schedule in a long run; none if it throws, as one without its
/// peak does.
std::optional<double> peak_of(const Schedule& schedule);

/// Returns the schedule without its fall: a rise to its peak (ConstantWithWarmup), or the peak
/// alone (ConstantRate). Returns the schedule itself if it never falls, and if it throws.
Schedule without_fall(const Schedule& schedule);

/// Returns a schedule with the values `a` * `b`. A factor that is constant becomes a part of the
/// other schedule, if that has a field for it.
Schedule product(const Schedule& a, const Schedule& b);

// Decays of moving means that begin small, so that the mean soon forgets its start.
//
// Source: Shazeer & Stern 2018, arXiv 1804.04235, sections 7.1 and 7.2.

/// 1 - t^-exponent with t = max(step - begin_step, 1): the decay of Adafactor's second moments.
struct AdafactorDecay {
  /// Exponent of the step.
  Positive<double> exponent = 0.8;
  /// The step that counts as 0; for runs that continue with old state.
  NonNegative<int64_t> begin_step = 0;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(AdafactorDecay, exponent, begin_step)
};

/// decay * (1 - decay^(step - 1)) / (1 - decay^step): a moving mean with this decay is unbiased at
/// every step.
struct DebiasedDecay {
  /// The decay after many steps.
  FractionBelowOne decay = 0.9;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(DebiasedDecay, decay)
};

// Schedules that fall with a power of the step.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 5.3; Raffel et al. 2020, arXiv 1910.10683,
// section 3.1.2 (constant warm-up).

/// How a schedule begins.
enum class WarmupShape {
  kLinear,    // rises from 0
  kConstant,  // has its peak from the start
};
constexpr auto texts_of(WarmupShape) {
  return std::to_array<EnumText<WarmupShape>>(
      {{WarmupShape::kLinear, "linear"}, {WarmupShape::kConstant, "constant"}});
}

/// scale * t^-exponent for t = step - begin_step from warmup_steps on. Before that the value rises
/// linearly to scale * warmup_steps^-exponent, its peak, or has it already.
struct InverseSqrt {
  /// The value at t = 1 without warm-up. The peak is scale * warmup_steps^-exponent.
  Positive<double> scale = 1;
  /// Number of steps of the warm-up.
  Positive<int64_t> warmup_steps = 10000;
  /// How the schedule begins.
  WarmupShape warmup = WarmupShape::kLinear;
  /// Exponent of the fall.
  Positive<double> exponent = 0.5;
  /// The step that counts as t = 0: any number, also a negative one.
  int64_t begin_step = 0;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(InverseSqrt, scale, warmup_steps, warmup, exponent, begin_step)
};

/// begin_value up to begin_step and end_value from end_step on. In between, the value is
/// begin_value + f^power * (end_value - begin_value), where f rises linearly from 0 to 1.
struct Polynomial {
  /// Last step with begin_value.
  NonNegative<int64_t> begin_step = 0;
  /// Value up to begin_step.
  NonNegative<double> begin_value = 0;
  /// First step with end_value.
  Positive<int64_t> end_step = 1;
  /// Value from end_step on.
  NonNegative<double> end_value = 0;
  /// Exponent of the curve; 1: linear.
  Positive<double> power = 1;
  /// Throws ConfigError unless begin_step < end_step.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(Polynomial, begin_step, begin_value, end_step, end_value, power)
};

/// begin_value up to begin_step and end_value from end_step on. In between, the logarithm of the
/// value changes linearly.
struct Exponential {
  /// Last step with begin_value.
  NonNegative<int64_t> begin_step = 0;
  /// Value up to begin_step.
  Positive<double> begin_value = 1;
  /// First step with end_value.
  Positive<int64_t> end_step = 1;
  /// Value from end_step on.
  Positive<double> end_value = 1;
  /// Throws ConfigError unless begin_step < end_step.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(Exponential, begin_step, begin_value, end_step, end_value)
};

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

/// The stage that began last determines the value. Each schedule counts its own steps from 0. A
/// schedule in it must set its own end.
struct Stepwise {
  /// The stages in order; the first begins at step 0.
  std::vector<Stage> stages = {};
  /// Throws ConfigError for no stage, and unless the stages begin at 0 and then ascend.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(Stepwise, stages)
};

/// schedule(step) * f, where f rises linearly from `begin` at begin_step to 1, warmup_steps later:
/// adds a warm-up and a first step to any schedule.
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

/// Rises linearly from `begin` to `peak` over warmup_steps, stays there to decay_begin_step, then
/// falls along half a cosine to alpha * peak at max_step and stays there.
///
/// Source: Loshchilov & Hutter 2017, arXiv 1608.03983, without restarts.
struct CosineWithWarmup {
  /// The rate at the end of the warm-up.
  Required<Positive<double>> peak = REQUIRED;
  /// Number of steps of the warm-up; 0: no warm-up.
  NonNegative<int64_t> warmup_steps = 500;
  /// Step at which the fall ends, warm-up included; none: the last step of the run.
  std::optional<Positive<int64_t>> max_step = {};
  /// The rate at the start of the warm-up.
  NonNegative<double> begin = 0;
  /// The last rate as a fraction of `peak`.
  Fraction alpha = 0;
  /// Step at which the fall begins, if it is after the warm-up; none: right after it.
  std::optional<NonNegative<int64_t>> decay_begin_step = {};
  /// Throws ConfigError unless max_step is known and after the warm-up and decay_begin_step.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(CosineWithWarmup, peak, warmup_steps, max_step, begin, alpha, decay_begin_step)
};

/// Rises linearly from `begin` to `peak` over warmup_steps, then falls linearly to `end` at
/// max_step and stays there.
struct LinearWithWarmup {
  /// The rate at the end of the warm-up.
  Required<Positive<double>> peak = REQUIRED;
  /// Number of steps of the warm-up; 0: no warm-up.
  NonNegative<int64_t> warmup_steps = 500;
  /// Step at which the fall ends, warm-up included; none: the last step of the run.
  std::optional<Positive<int64_t>> max_step = {};
  /// The rate at the start of the warm-up.
  NonNegative<double> begin = 0;
  /// The rate from max_step on.
  NonNegative<double> end = 0;
  /// Throws ConfigError unless max_step is known and warmup_steps < max_step.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(LinearWithWarmup, peak, warmup_steps, max_step, begin, end)
};

/// Warm-up, stable, decay: rises linearly from `begin` to `peak` over warmup_steps, stays there to
/// decay_begin_step, then falls linearly to alpha * peak at max_step and stays there.
///
/// Source: Hu et al. 2024, arXiv 2404.06395, section 4.
struct WarmupStableDecay {
  /// The rate between warm-up and fall.
  Required<Positive<double>> peak = REQUIRED;
  /// Number of steps of the warm-up; 0: no warm-up.
  NonNegative<int64_t> warmup_steps = 500;
  /// Step at which the fall begins.
  Required<NonNegative<int64_t>> decay_begin_step = REQUIRED;
  /// Step at which the fall ends; none: the last step of the run.
  std::optional<Positive<int64_t>> max_step = {};
  /// The rate at the start of the warm-up.
  NonNegative<double> begin = 0;
  /// The last rate as a fraction of `peak`.
  Fraction alpha = 0;
  /// Throws ConfigError unless max_step is known and warmup_steps <= decay_begin_step < max_step.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(WarmupStableDecay, peak, warmup_steps, decay_begin_step, max_step, begin, alpha)
};

/// Rises linearly from `begin` to `peak` over warmup_steps and stays there.
struct ConstantWithWarmup {
  /// The rate at the end of the warm-up and after it.
  Required<Positive<double>> peak = REQUIRED;
  /// Number of steps of the warm-up; 0: no warm-up.
  NonNegative<int64_t> warmup_steps = 500;
  /// The rate at the start of the warm-up.
  NonNegative<double> begin = 0;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(ConstantWithWarmup, peak, warmup_steps, begin)
};

}  // namespace axle
