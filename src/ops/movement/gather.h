// General gather as defined by StableHLO: it reads windows of an operand at computed positions.
//
// Layer code should use the simpler functions of ops/movement/index.h.
#pragma once

#include <optional>
#include <vector>

#include "ir/tensor.h"

namespace axle {

/// The dimension numbers of gather and scatter. "Slices" are the result of gather and the updates
/// of scatter.
struct GatherDims {
  /// Dims of the slices that run within a window. The other dims run over the positions.
  std::vector<int64_t> offset = {};
  /// Dims of the operand where the window has size 1. The slices do not have these dims.
  std::vector<int64_t> collapsed = {};
  /// Batch dims: operand_batch[i] of the operand pairs with indices_batch[i] of the indices.
  std::vector<int64_t> operand_batch = {}, indices_batch = {};
  /// For each component of a position, the operand dim that it indexes.
  std::vector<int64_t> index_map = {};
  /// Dim of the indices that holds the components of a position. If it equals the rank of the
  /// indices, each index is a position of one component.
  int64_t index_vector_dim = 0;
};

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
  /// Promises that speed up the program; a broken one makes elements undefined. The positions
  /// ascend in lexicographic order; no two windows overlap (after they were moved inside).
  bool indices_are_sorted = false, unique_indices = false;
};

/// Returns the window of shape `sizes` at each position. Indices may have any integer dtype.
/// Throws ShapeError if the dimension numbers do not fit the shapes.
Tensor gather(const Tensor& operand, const Tensor& indices, const GatherDims& dims,
              const Shape& sizes, const GatherOptions& options = {});

}  // namespace axle
