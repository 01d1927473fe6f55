// The dimension numbers of gather and scatter as defined by StableHLO.
#pragma once

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

}  // namespace axle
