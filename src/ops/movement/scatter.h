// General scatter as defined by StableHLO: it combines updates with windows of an operand at
// computed positions.
//
// Layer code should use the simpler functions of ops/movement/index.h.
#pragma once

#include "ops/movement/gather.h"

namespace axle {

/// What scatter does with a window that reaches outside the operand.
enum class ScatterMode {
  /// Drops its update, whose gradient is zero.
  kDrop,
  /// Moves it inside.
  kClip,
  /// The caller promises that there is none: the gradient of its update is undefined.
  kPromiseInBounds
};

struct ScatterOptions {
  ScatterMode mode = ScatterMode::kDrop;
  /// Promises that speed up the program; a broken one makes elements undefined. The positions
  /// ascend in lexicographic order; no two windows overlap (after they were moved inside).
  bool indices_are_sorted = false, unique_indices = false;
};

/// Each function returns the operand with the updates combined with its windows. Updates have the
/// dtype of the operand and the shape that gather would return. Throws ShapeError if the dimension
/// numbers do not fit the shapes.
///
/// Adds up all updates of an element.
Tensor scatter_add(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options = {});
/// Multiplies an element by all its updates. Unless `unique_indices`, the gradient of an update
/// divides by the update. Where an element has an update of zero, derivatives of the second order
/// are then wrong.
Tensor scatter_mul(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options = {});
/// The least (largest) of an element and its updates; NaN if one of them is NaN. Equal ones share
/// the gradient.
Tensor scatter_min(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options = {});
Tensor scatter_max(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options = {});
/// Replaces elements by their updates. Windows must not overlap: both the result and the gradient
/// of overlapping updates are undefined.
Tensor scatter(const Tensor& operand, const Tensor& indices, const Tensor& updates,
               const GatherDims& dims, const ScatterOptions& options = {});

}  // namespace axle
