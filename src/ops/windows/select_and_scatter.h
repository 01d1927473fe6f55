// The elements that windows select, and sums over them: the gradients of maxima and minima over
// windows.
#pragma once

#include "ops/windows/window.h"

namespace axle {

/// Which element a window selects; of equal ones the first. NaN is selected before all numbers,
/// padding never.
enum class WindowSelect : uint8_t { kLargest, kLeast };

/// Adds each element of `source` to the element of x that its window selects. `source` has the
/// dtype of x and one element for each window. The result has the type of x and is 0 elsewhere. The
/// gradient goes to `source` only. Throws ShapeError if shapes or dtypes do not fit, or if the
/// window is dilated.
Tensor select_and_scatter_add(const Tensor& x, const Tensor& source, const Window& window,
                              WindowSelect select);
/// Returns, for each window, the row-major position in x of the element that it selects, i32; -1
/// for a window without elements. Throws ShapeError if x has 2^31 elements or more.
Tensor selected_positions(const Tensor& x, const Window& window, WindowSelect select);

/// select_and_scatter_add over a window that may be dilated, for vjp rules.
Tensor add_to_selected(const Tensor& x, const Tensor& source, const SlidingWindow& window,
                       WindowSelect select);

}  // namespace axle
