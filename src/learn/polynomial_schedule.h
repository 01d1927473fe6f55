// Schedules that go from one value to another and stay there.
#pragma once

#include <cstdint>

#include "learn/schedule.h"

namespace axle {

/// begin_value up to begin_step, end_value from end_step on, between them along fraction^power.
struct Polynomial {
  /// Up to here it is begin_value.
  NonNegative<int64_t> begin_step = 0;
  /// The first value.
  NonNegative<double> begin_value = 0;
  /// From here on it is end_value.
  Positive<int64_t> end_step = 1;
  /// The last value.
  NonNegative<double> end_value = 0;
  /// 1: a straight line.
  Positive<double> power = 1;
  /// Throws ConfigError unless begin_step < end_step.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(Polynomial, begin_step, begin_value, end_step, end_value, power)
};

/// Between the steps the logarithm goes along a straight line.
struct Exponential {
  /// Up to here it is begin_value.
  NonNegative<int64_t> begin_step = 0;
  /// The first value.
  Positive<double> begin_value = 1;
  /// From here on it is end_value.
  Positive<int64_t> end_step = 1;
  /// The last value.
  Positive<double> end_value = 1;
  /// Throws ConfigError unless begin_step < end_step.
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(Exponential, begin_step, begin_value, end_step, end_value)
};

}  // namespace axle
