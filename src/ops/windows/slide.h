// Walks over the elements under sliding windows, for the interpreter.
#pragma once

#include <functional>

#include "ops/movement/strided.h"
#include "ops/windows/window.h"

namespace axle {

/// Strides of the dims that a window slides over: in the operand, in the window and in the result.
struct SlideStrides {
  Shape x, window, y;
};

/// Calls fn(offset in y, offset in x, offset in the window) for each element of each window that
/// lies on an element of x, not on padding or holes. Windows come in row-major order, and so do the
/// elements of a window. `x` and `y` are the shapes of the dims that the window slides over.
void slide(const SlidingWindow& window, const Shape& x, const Shape& y, const SlideStrides& strides,
           const std::function<void(size_t, size_t, size_t)>& fn);

/// Calls fn(offset in y, offset in x) for windows over all dims of dense tensors; see slide.
void slide(const SlidingWindow& window, const Shape& x, const Shape& y,
           const std::function<void(size_t, size_t)>& fn);

}  // namespace axle
