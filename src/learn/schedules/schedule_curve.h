// Changes of the curve of a schedule, for optimizers that take the place of each other.
#pragma once

#include <optional>

#include "learn/schedule.h"

namespace axle {

/// Returns the largest value of the schedule in a long run; none if it throws, as one without its
/// peak does.
std::optional<double> peak_of(const Schedule& schedule);

/// Returns the schedule without its fall: a rise to its peak (ConstantWithWarmup), or the peak
/// alone (ConstantRate). Returns the schedule itself if it never falls, and if it throws.
Schedule without_fall(const Schedule& schedule);

/// Returns a schedule with the values `a` * `b`. A factor that is constant becomes a part of the
/// other schedule, if that has a field for it.
Schedule product(const Schedule& a, const Schedule& b);

}  // namespace axle
