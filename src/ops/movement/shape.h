// Another arrangement of the same elements. Taking apart and putting together: slice.h.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// One dim may be -1: what is left. Throws ShapeError if sizes differ.
Tensor reshape(const Tensor& x, Shape shape);
/// Dim i of the result is dim perm[i] of x.
Tensor transpose(const Tensor& x, const std::vector<int64_t>& perm);
Tensor swap_axes(const Tensor& x, int64_t a, int64_t b);
/// Axis `from` comes to stand at `to`; the others keep their order.
Tensor move_axis(const Tensor& x, int64_t from, int64_t to);
/// Drops dims of size 1.
Tensor squeeze(const Tensor& x, const std::vector<int64_t>& axes);
/// Inserts a dim of size 1 before dim `axis` (of the result, if negative).
Tensor expand_dims(const Tensor& x, int64_t axis);
/// One dim in place of dims first..last (inclusive; negative counts from the end).
Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
/// Dim `axis` split into `sizes`, of which one may be -1.
Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes);
/// The order of elements along the axes turned round.
Tensor reverse(const Tensor& x, const std::vector<int64_t>& axes);

}  // namespace axle
