// Broadcasting.
#pragma once

#include <utility>

#include "ir/tensor.h"

namespace axle {

/// Broadcasts x to `shape`. Dim i of x becomes dim dims[i] of the result. Dims of size 1 are
/// repeated. Dims of the result that are not in `dims` are new.
Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, const std::vector<int64_t>& dims);
/// Broadcasts x to `shape` by numpy's rule: dims are aligned at the last dim. Throws ShapeError if
/// the shapes do not fit.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// Returns both operands of the binary op `op`, broadcast to their common shape. Throws ShapeError
/// that names both shapes.
std::pair<Tensor, Tensor> broadcast_together(const Tensor& a, const Tensor& b, std::string_view op);
/// Which dim of the grid the first coordinate runs along: dim 0 for kMatrix ("ij"), dim 1 for
/// kCartesian ("xy"), which swaps the first two dims.
enum class GridOrder { kCartesian, kMatrix };
/// Returns the coordinates of all points of a grid: one tensor of the shape of the grid for each of
/// the vectors `axes`.
Values meshgrid(const Values& axes, GridOrder order = GridOrder::kCartesian);
/// Emits the binary op with both operands broadcast to their common shape.
Tensor emit_broadcast(const OpRules& rules, const Tensor& a, const Tensor& b);

}  // namespace axle
