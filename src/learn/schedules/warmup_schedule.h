// Schedules that begin with a linear warm-up.
#pragma once

#include <cstdint>
#include <optional>

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "learn/schedule.h"

namespace axle {

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
