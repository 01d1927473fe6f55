// Schedules: numbers that depend on the step, such as the learning rate.
//
// Steps are counted from 1: the first update of a run uses the value at step 1, so that a linear
// warm-up never makes an update of size 0.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "config/walk.h"
#include "ir/tensor.h"

namespace axle {

/// A step: an i32 or f32 scalar. The type distinguishes schedules from other functions of a tensor.
class Step : public Tensor {
 public:
  Step(const Tensor& step) : Tensor(step) {}
};
/// Maps a step to an f32 scalar; traced.
using Schedule = Fn<Tensor(const Step& step)>;

/// The same `value` at every step.
struct ConstantRate {
  /// Value at every step.
  NonNegative<double> value = 1;
  static constexpr std::string_view kFromNumber = "value";
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(ConstantRate, value)
};

/// Sets the open ends of schedules below `root`. An end is open if the schedule has a field
/// `max_step` of type std::optional<Positive<int64_t>> that is none. The schedule then ends with
/// the run, or one step after its `warmup_steps` if that is later. Schedules inside of Segments and
/// Stepwise stay open.
void set_schedule_ends(ConfigRef root, int64_t run_steps);

/// Sets each open end of a schedule below `root` to the end that the schedule at the same path of
/// `from` has, if it has one.
void keep_schedule_ends(ConfigRef root, ConfigRef from);

/// Returns the value at `step` of each schedule below `root` that counts the steps of the run, by
/// its path. Call it after set_schedule_ends. A schedule that throws is left out.
std::map<std::string, double> schedule_values(ConfigRef root, int64_t step,
                                              std::string_view root_name = {});

/// Returns the steps at which a schedule below `root` that counts the steps of the run may bend.
std::set<int64_t> schedule_turns(ConfigRef root);

/// Returns one line for each way in which a schedule below `root` does not fit its run of
/// `run_steps`. Call it after set_schedule_ends. A schedule does not fit in each of these cases:
///   its `warmup_steps` take the whole run;
///   its value becomes 0 and stays 0 before the end of the run;
///   its `max_step` is before the end of the run;
///   it falls to its value at `end_step` before the end of the run.
std::vector<std::string> schedule_problems(ConfigRef root, int64_t run_steps,
                                           std::string_view root_name = {});

/// Throws ConfigError, naming the config path `where`, if the schedule's fields do not fit
/// together, if its result is not an f32 scalar, or if its value is outside `bounds` at a probed
/// step.
///
/// Probed are step 1, each step that an integer field "..._step" or "..._steps" names, the steps
/// next to it, and a step halfway between two of these.
void check_schedule(const Schedule& schedule, std::string_view where,
                    const Bounds& bounds = {.min = 0});

/// Returns the value at one step. Throws ConfigError as the schedule does.
double value_at(const Schedule& schedule, int64_t step);

/// Returns the steps at which a schedule may bend: step 1, the steps that its fields name with
/// their neighbours, and steps halfway between these.
std::set<int32_t> probing_steps(const Schedule& schedule);

}  // namespace axle
