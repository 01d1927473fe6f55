// Reductions over windows: sum, maximum and minimum.
//
// x is float, integer or (sum only) complex; the result has the dtype of x and one element for each
// window. Padding and holes of a dilated x hold the identity of the reduction (0, -inf, inf; for
// integers the extremes). Throws ShapeError if the window does not fit the dims of x.
#pragma once

#include "ops/windows/window.h"

namespace axle {

/// Small floats are summed in f32.
Tensor reduce_window_sum(const Tensor& x, const Window& window);
/// The gradient goes to the element of each window that is the largest, of equal ones to the first.
Tensor reduce_window_max(const Tensor& x, const Window& window);
/// The gradient goes to the element of each window that is the least, of equal ones to the first.
Tensor reduce_window_min(const Tensor& x, const Window& window);

}  // namespace axle
