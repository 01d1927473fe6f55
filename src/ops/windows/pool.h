// Pooling over windows of the spatial dims.
//
// x is [N, spatial.., C]; the result is [N, windows.., C] of the same dtype. Throws ShapeError if
// the window does not fit.
#pragma once

#include "ops/windows/window.h"

namespace axle {

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
/// x is floating-point. Small floats are summed in f32. A window without elements gives 0 or, with
/// kWithoutPadding, NaN.
Tensor avg_pool(const Tensor& x, const PoolOptions& options, PoolCount count = PoolCount::kWindow);

}  // namespace axle
