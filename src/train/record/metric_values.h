// The metrics of a program as named numbers on the host.
#pragma once

#include "base/tree.h"
#include "runtime/runtime.h"

namespace axle {

/// Returns the values of a program's results from index `first` on, by name. The elements of a
/// vector get numbers: "name/0", "name/1". Waits for the values.
Tree<double> metric_values(const Program& program, size_t first, const Arrays& metrics);

}  // namespace axle
