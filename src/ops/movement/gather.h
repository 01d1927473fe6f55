// General gather and scatter as defined by StableHLO: they read or write windows of an operand at
// computed positions.
//
// Layer code should use the simpler functions of ops/movement/index.h.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace axle {

/// The dimension numbers of gather and scatter. "Slices" are the result of gather and the updates
/// of scatter.
struct WindowDims {
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

/// Returns the window of shape `sizes` at each position. Windows that would reach outside the
/// operand are moved inside; the gradient goes to the moved window.
Tensor gather(const Tensor& operand, const Tensor& indices, const WindowDims& dims,
              const Shape& sizes);
/// Returns the operand with each window of `updates` added at its position. Updates at the same
/// position add up. Windows that reach outside the operand are dropped.
Tensor scatter_add(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const WindowDims& dims);
/// Like scatter_add, but replaces elements instead of adding to them. Windows must not overlap:
/// both the result and the gradient of overlapping updates are undefined.
Tensor scatter(const Tensor& operand, const Tensor& indices, const Tensor& updates,
               const WindowDims& dims);

}  // namespace axle
