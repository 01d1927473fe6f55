// General gather as defined by StableHLO: it reads windows of an operand at computed positions.
//
// Layer code should use the simpler functions of ops/movement/index.h.
#pragma once

#include <optional>

#include "ir/scalar.h"
#include "ops/movement/gather_dims.h"

namespace axle {

/// What gather does with a window that reaches outside the operand.
enum class GatherMode {
  /// Moves it inside. The gradient goes to the moved window.
  kClip,
  /// Returns a fill value for all its elements. The gradient is zero.
  kFill,
  /// The caller promises that there is none: its result and its gradient are undefined.
  kPromiseInBounds
};

struct GatherOptions {
  GatherMode mode = GatherMode::kClip;
  /// The value of windows outside. None: NaN for floats, the least value for signed integers, the
  /// largest one for unsigned integers, true for predicates.
  std::optional<Scalar> fill = {};
  /// Promises that speed up the program; a broken one gives undefined elements. The positions
  /// ascend in lexicographic order; no two windows overlap (after they were moved inside).
  bool indices_are_sorted = false, unique_indices = false;
};

/// Returns the window of shape `sizes` at each position. Indices may have any integer dtype.
/// Throws ShapeError if the dimension numbers do not fit the shapes.
Tensor gather(const Tensor& operand, const Tensor& indices, const GatherDims& dims,
              const Shape& sizes, const GatherOptions& options = {});

}  // namespace axle
