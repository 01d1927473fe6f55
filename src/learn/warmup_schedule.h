// Schedules that begin with a linear warm-up.
#pragma once

#include <cstdint>

#include "config/required.h"
#include "learn/schedule.h"

namespace axle {

/// From `begin` to `peak` in a straight line over warmup_steps, then half a cosine down to
/// alpha * peak at max_step, which it keeps.
///
/// Source: Loshchilov & Hutter 2017, arXiv 1608.03983, without restarts.
struct CosineWithWarmup {
  Required<double> peak = REQUIRED;
  /// 0: none.
  int64_t warmup_steps = 500;
  /// Counted from the start of the warm-up.
  Required<int64_t> max_step = REQUIRED;
  double begin = 0;
  /// The last value as a fraction of `peak`.
  double alpha = 0;
  /// Throws ConfigError unless 0 <= warmup_steps < max_step.
  Tensor operator()(const Tensor& step) const;
  AXLE_CONFIG(CosineWithWarmup, peak, warmup_steps, max_step, begin, alpha)
};

/// From `begin` to `peak` over warmup_steps, then in a straight line to `end` at max_step.
struct LinearWithWarmup {
  Required<double> peak = REQUIRED;
  /// 0: none.
  int64_t warmup_steps = 500;
  /// Counted from the start of the warm-up.
  Required<int64_t> max_step = REQUIRED;
  double begin = 0;
  double end = 0;
  /// Throws ConfigError unless 0 <= warmup_steps < max_step.
  Tensor operator()(const Tensor& step) const;
  AXLE_CONFIG(LinearWithWarmup, peak, warmup_steps, max_step, begin, end)
};

/// From `begin` to `peak` over warmup_steps, then `peak`.
struct ConstantWithWarmup {
  Required<double> peak = REQUIRED;
  /// 0: none.
  int64_t warmup_steps = 500;
  double begin = 0;
  /// Throws ConfigError for negative warmup_steps.
  Tensor operator()(const Tensor& step) const;
  AXLE_CONFIG(ConstantWithWarmup, peak, warmup_steps, begin)
};

}  // namespace axle
