// Schedules that change from one value to another and then stay constant.
#pragma once

#include <cstdint>

#include "learn/schedule.h"

namespace axle {

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

}  // namespace axle
