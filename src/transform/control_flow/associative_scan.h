// Prefix results of an associative operation, in logarithmic depth.
//
// Source: Blelloch 1990, Prefix sums and their applications, section 1.3.
#pragma once

#include <functional>

#include "ir/tensor.h"

namespace axle {

/// Combines results of earlier elements with results of later ones, element by element. Must be
/// associative.
using AssociativeCombine = std::function<Values(const Values& earlier, const Values& later)>;

/// Returns y with y[.., t, ..] = x[.., 0, ..] * ... * x[.., t, ..] along `axis`, where * is
/// `combine`. All tensors of x have the same size along the axis. The number of calls of `combine`
/// is twice the logarithm of that size. Throws ShapeError for other sizes and for a `combine` that
/// does not return the types of its first argument.
Values associative_scan(const AssociativeCombine& combine, const Values& x, int64_t axis);

}  // namespace axle
