// Schedules: numbers that depend on the step, such as the learning rate.
//
// Steps are counted from 1: the first update of a run asks for the value at step 1, so that a
// linear warm-up never makes an update of size 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_ref.h"
#include "config/describe.h"
#include "config/fields/fn.h"
#include "config/fields/ranged.h"
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

/// Gives schedules below `root` the length of the run that they leave open: those with a field
/// `max_step` of type std::optional<Positive<int64_t>> and none in it end with the run, or one step
/// behind their own `warmup_steps` where that is later.
void tie_to_run(ConfigRef root, int64_t run_steps);

/// One line for each schedule below `root` that does not fit its run, as it is after tie_to_run: it
/// gives 0, its `max_step` is past or it has fallen to its `end_step` before the run ends, or its
/// `warmup_steps` take the whole run.
std::vector<std::string> schedules_that_miss_the_run(ConfigRef root, int64_t run_steps,
                                                     std::string_view root_name = {});

/// Throws ConfigError, naming the config path `where`, if the schedule's fields do not fit
/// together, its result is no f32 scalar, or its value is not within `bounds` at step 1, or at a
/// step that an integer field "..._step" or "..._steps" of it names, beside and between those.
void check_schedule(const Schedule& schedule, std::string_view where,
                    const Bounds& bounds = {.min = 0});

}  // namespace axle
