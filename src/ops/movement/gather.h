// Gather and scatter in full generality, as StableHLO defines them: windows of an operand at
// computed positions.
//
// User code reads better with ops/movement/index.h.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace axle {

/// How positions and windows are laid out. "Slices" means gather's result and scatter's updates.
struct WindowDims {
  /// Dims of the slices that run within a window; the others run over the positions.
  std::vector<int64_t> offset = {};
  /// Dims of the operand where a window has size 1 and that the slices lack.
  std::vector<int64_t> collapsed = {};
  /// Dims of the operand that are walked together with the dims `indices_batch` of the indices.
  std::vector<int64_t> operand_batch = {}, indices_batch = {};
  /// The operand dim of each component of a position.
  std::vector<int64_t> index_map = {};
  /// Dim of the indices that holds the components; the rank of the indices if each is a position of
  /// one component.
  int64_t index_vector_dim = 0;
};

/// The window of `sizes` at each position; windows that would reach outside are moved inside, and
/// so is their gradient.
Tensor gather(const Tensor& operand, const Tensor& indices, const WindowDims& dims,
              const Shape& sizes);
/// The operand with each window of `updates` added at its position, equal positions add up; windows
/// that reach outside are dropped.
Tensor scatter_add(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const WindowDims& dims);
/// The same, replacing. Positions must not overlap: which of two updates wins is not defined, nor
/// is their gradient.
Tensor scatter(const Tensor& operand, const Tensor& indices, const Tensor& updates,
               const WindowDims& dims);

}  // namespace axle
