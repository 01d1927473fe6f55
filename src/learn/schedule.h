// Schedules: numbers that depend on the step, such as the learning rate.
//
// Steps are counted from 1: the first update of a run asks for the value at step 1, so that a
// linear warm-up never makes an update of size 0.
#pragma once

#include <string_view>

#include "config/describe.h"
#include "config/fn.h"
#include "config/ranged.h"
#include "ir/tensor.h"

namespace axle {

/// A step, an i32 or f32 scalar: what tells schedules from other functions of a tensor.
class Step : public Tensor {
 public:
  Step(const Tensor& step) : Tensor(step) {}
};
/// From the step to an f32 scalar; traced.
using Schedule = Fn<Tensor(const Step& step)>;

/// The same `value` at every step.
struct ConstantRate {
  /// At every step.
  NonNegative<double> value = 1;
  static constexpr std::string_view kFromNumber = "value";
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(ConstantRate, value)
};

/// Throws ConfigError, naming the config path `where`, if the schedule's fields do not fit
/// together, its result is no f32 scalar, or its value at step 1 is not within `bounds`.
void check_schedule(const Schedule& schedule, std::string_view where,
                    const Bounds& bounds = {.min = 0});

}  // namespace axle
