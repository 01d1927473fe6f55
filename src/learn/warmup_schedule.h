// Schedules that begin with a linear warm-up.
#pragma once

#include <cstdint>
#include <optional>

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "learn/schedule.h"

namespace axle {

/// From `begin` to `peak` in a straight line over warmup_steps, then half a cosine down to
/// alpha * peak at max_step, which it keeps.
///
/// Source: Loshchilov & Hutter 2017, arXiv 1608.03983, without restarts.
struct CosineWithWarmup {
  /// The rate at the end of the warm-up.
  Required<Positive<double>> peak = REQUIRED;
  /// 0: none.
  NonNegative<int64_t> warmup_steps = 500;
  /// Counted from the start of the warm-up; none: the last step of the run (tie_to_run).
  std::optional<Positive<int64_t>> max_step = {};
  /// The rate that the warm-up starts from.
  NonNegative<double> begin = 0;
  /// The last value as a fraction of `peak`.
  Fraction alpha = 0;
  /// Throws ConfigError unless max_step is known and warmup_steps < max_step.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(CosineWithWarmup, peak, warmup_steps, max_step, begin, alpha)
};

/// From `begin` to `peak` over warmup_steps, then in a straight line to `end` at max_step.
struct LinearWithWarmup {
  /// The rate at the end of the warm-up.
  Required<Positive<double>> peak = REQUIRED;
  /// 0: none.
  NonNegative<int64_t> warmup_steps = 500;
  /// Counted from the start of the warm-up; none: the last step of the run (tie_to_run).
  std::optional<Positive<int64_t>> max_step = {};
  /// The rate that the warm-up starts from.
  NonNegative<double> begin = 0;
  /// The rate at max_step and after.
  NonNegative<double> end = 0;
  /// Throws ConfigError unless max_step is known and warmup_steps < max_step.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(LinearWithWarmup, peak, warmup_steps, max_step, begin, end)
};

/// From `begin` to `peak` over warmup_steps, then `peak`.
struct ConstantWithWarmup {
  /// The rate at the end of the warm-up.
  Required<Positive<double>> peak = REQUIRED;
  /// 0: none.
  NonNegative<int64_t> warmup_steps = 500;
  /// The rate that the warm-up starts from.
  NonNegative<double> begin = 0;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(ConstantWithWarmup, peak, warmup_steps, begin)
};

}  // namespace axle
