// Schedules: numbers that depend on the step, such as the learning rate.
//
// Steps are counted from 1: the first update of a run asks for the value at step 1, so that a
// linear warm-up never makes an update of size 0.
#pragma once

#include <string_view>

#include "config/describe.h"
#include "config/fn.h"
#include "ir/tensor.h"

namespace axle {

/// From the step, an i32 or f32 scalar, to an f32 scalar; traced.
using Schedule = Fn<Tensor(const Tensor& step)>;

/// The same `value` at every step.
struct ConstantRate {
  double value = 1;
  Tensor operator()(const Tensor& step) const;
  AXLE_CONFIG(ConstantRate, value)
};

/// Throws ConfigError, naming the config path `where`, if the schedule's fields do not fit together
/// or its result is no f32 scalar.
void check_schedule(const Schedule& schedule, std::string_view where);

}  // namespace axle
