// Reductions over windows, and pooling.
#pragma once

#include <functional>

#include "ops/movement/window_rules.h"
#include "ops/windows/window.h"

namespace axle {

// Reductions over windows: sum, maximum and minimum.
//
// x is float, integer or (sum only) complex; the result has the dtype of x and one element for each
// window. Padding and holes of a dilated x hold the identity of the reduction (0, -inf, inf; for
// integers the extremes). Throws ShapeError if the window does not fit the dims of x.

/// Small floats are summed in f32.
Tensor reduce_window_sum(const Tensor& x, const Window& window);
/// The gradient goes to the element of each window that is the largest, of equal ones to the first.
Tensor reduce_window_max(const Tensor& x, const Window& window);
/// The gradient goes to the element of each window that is the least, of equal ones to the first.
Tensor reduce_window_min(const Tensor& x, const Window& window);

// Pooling over windows of the spatial dims.
//
// x is [N, spatial.., C]; the result is [N, windows.., C] of the same dtype. Throws ShapeError if
// the window does not fit.

struct PoolOptions {
  /// Size of the window along each spatial dim.
  Shape window;
  /// An entry for each spatial dim; empty: all 1.
  Shape strides = {};
  /// Padding of the spatial dims.
  Padding padding = {};
};

/// What avg_pool divides by: the size of the window, or the number of its elements that are not
/// padding.
enum class PoolCount : uint8_t { kWindow, kWithoutPadding };

/// Padding is never the maximum.
Tensor max_pool(const Tensor& x, const PoolOptions& options);
/// Padding is never the minimum.
Tensor min_pool(const Tensor& x, const PoolOptions& options);
/// x is floating-point. Small floats are summed in f32. A window without elements yields 0 or, with
/// kWithoutPadding, NaN.
Tensor avg_pool(const Tensor& x, const PoolOptions& options, PoolCount count = PoolCount::kWindow);

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
