// Schedules that go from one value to another and stay there.
#pragma once

#include <cstdint>

#include "learn/schedule.h"

namespace axle {

/// begin_value up to begin_step, end_value from end_step on, between them along fraction^power.
struct Polynomial {
  int64_t begin_step = 0;
  double begin_value = 0;
  int64_t end_step = 1;
  double end_value = 0;
  /// 1: a straight line.
  double power = 1;
  /// Throws ConfigError unless begin_step < end_step.
  Tensor operator()(const Tensor& step) const;
  AXLE_CONFIG(Polynomial, begin_step, begin_value, end_step, end_value, power)
};

/// Between the steps the logarithm goes along a straight line.
struct Exponential {
  int64_t begin_step = 0;
  double begin_value = 1;
  int64_t end_step = 1;
  double end_value = 1;
  /// Throws ConfigError unless begin_step < end_step and both values are positive.
  Tensor operator()(const Tensor& step) const;
  AXLE_CONFIG(Exponential, begin_step, begin_value, end_step, end_value)
};

}  // namespace axle
