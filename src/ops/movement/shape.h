// Ops that rearrange the elements of a tensor. For slices, padding and concatenation see slice.h.
#pragma once

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

}  // namespace axle
