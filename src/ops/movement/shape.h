// Ops that rearrange the elements of a tensor. For slices, padding and concatenation see slice.h.
#pragma once

#include <utility>

#include "ir/tensor.h"

namespace axle {

/// One dim may be -1: its size is inferred. Throws ShapeError if the numbers of elements differ.
Tensor reshape(const Tensor& x, Shape shape);
/// Dim i of the result is dim perm[i] of x.
Tensor transpose(const Tensor& x, const std::vector<int64_t>& perm);
Tensor swap_axes(const Tensor& x, int64_t a, int64_t b);
/// Moves axis `from` to position `to`. The other axes keep their order.
Tensor move_axis(const Tensor& x, int64_t from, int64_t to);
/// Drops `axes`, which must have size 1.
Tensor squeeze(const Tensor& x, const std::vector<int64_t>& axes);
/// Inserts a dim of size 1 that becomes dim `axis` of the result.
Tensor expand_dims(const Tensor& x, int64_t axis);
/// Merges dims first..last (inclusive) into one. Negative dims count from the end.
Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
/// Splits dim `axis` into dims of these sizes. One size may be -1: it is inferred.
Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes);
/// Reverses the order of elements along `axes`.
Tensor reverse(const Tensor& x, const std::vector<int64_t>& axes);

/// Broadcasts x to `shape`. Dim i of x becomes dim dims[i] of the result. Dims of size 1 are
/// repeated. Dims of the result that are not in `dims` are new.
Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, const std::vector<int64_t>& dims);
/// Broadcasts x to `shape` by numpy's rule: dims are aligned at the last dim. Throws ShapeError if
/// the shapes do not fit.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// Returns both operands of the binary op `op`, broadcast to their common shape. Throws ShapeError
/// that names both shapes.
std::pair<Tensor, Tensor> broadcast_together(const Tensor& a, const Tensor& b,
                                             std::string_view op = "broadcast_together");
/// Which dim of the grid the first coordinate runs along: dim 0 for kMatrix ("ij"), dim 1 for
/// kCartesian ("xy"), which swaps the first two dims.
enum class GridOrder { kCartesian, kMatrix };
/// Returns the coordinates of all points of a grid: one tensor of the shape of the grid for each of
/// the vectors `axes`.
Values meshgrid(const Values& axes, GridOrder order = GridOrder::kCartesian);
/// Emits the binary op with both operands broadcast to their common shape.
Tensor emit_broadcast(const OpRules& rules, const Tensor& a, const Tensor& b);

}  // namespace axle
