// The values of a schedule, on the host.
#pragma once

#include <cstdint>
#include <set>

#include "learn/schedule.h"

namespace axle {

/// Returns the value at one step. Throws ConfigError as the schedule does.
double value_at(const Schedule& schedule, int64_t step);

/// Returns the steps at which a schedule may turn: step 1, the steps that its fields name with
/// their neighbours, and steps halfway between these.
std::set<int32_t> probing_steps(const Schedule& schedule);

}  // namespace axle
