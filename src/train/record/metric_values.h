// What a program reports beside its state, as numbers with names.
#pragma once

#include "base/tree.h"
#include "runtime/runtime.h"

namespace axle {

/// The values of a program's results from `first` on, by their names; those of a vector are
/// numbered: "name/0", "name/1". Waits for them.
Tree<double> metric_values(const Program& program, size_t first, const Arrays& metrics);

}  // namespace axle
