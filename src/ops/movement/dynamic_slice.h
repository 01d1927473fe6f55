// Slices at computed positions. A slice that would reach outside the tensor is moved inside. For
// positions known while tracing see slice.h.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Returns the slice of shape `sizes` that starts at `starts`, one integer scalar for each dim.
Tensor dynamic_slice(const Tensor& x, const Values& starts, const Shape& sizes);
/// Returns x with `update` written at `starts`.
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, const Values& starts);
/// dynamic_slice of `size` elements along one dim.
Tensor dynamic_slice_in_dim(const Tensor& x, const Tensor& start, int64_t size, int64_t axis = 0);
/// Returns x[.., index, ..] without dim `axis`.
Tensor dynamic_index_in_dim(const Tensor& x, const Tensor& index, int64_t axis = 0);
/// dynamic_update_slice along one dim.
Tensor dynamic_update_slice_in_dim(const Tensor& x, const Tensor& update, const Tensor& start,
                                   int64_t axis = 0);
/// Returns x with x[.., index, ..] replaced by `update`. `update` has the shape of x without dim
/// `axis`.
Tensor dynamic_update_index_in_dim(const Tensor& x, const Tensor& update, const Tensor& index,
                                   int64_t axis = 0);

/// Moves the elements along `axis` by `shift` positions towards the end, in a circle. `shift` is an
/// integer scalar.
Tensor dynamic_roll(const Tensor& x, const Tensor& shift, int64_t axis = 0);

// Diagonals and triangles of matrices.
//
// `offset` chooses a diagonal: element [i, i + offset]. 0 is the main one, positive ones are above.
// Leading dims are batch dims.

/// Returns a matrix that is 1 on a diagonal and 0 elsewhere.
Tensor eye(int64_t rows, int64_t columns, int64_t offset = 0, DType dtype = DType::kF32);
/// Returns a matrix that is 1 on and below a diagonal and 0 above.
Tensor tri(int64_t rows, int64_t columns, int64_t offset = 0, DType dtype = DType::kF32);
/// Returns x with zeros above (tril) or below (triu) a diagonal of its last two dims.
Tensor tril(const Tensor& x, int64_t offset = 0);
Tensor triu(const Tensor& x, int64_t offset = 0);
/// Returns a diagonal of the last two dims: x[.., R, C] -> y[.., N]. N is 0 for a diagonal outside.
Tensor diagonal(const Tensor& x, int64_t offset = 0);
/// Returns square matrices with the last dim of x on a diagonal and 0 elsewhere:
/// x[.., N] -> y[.., N + |offset|, N + |offset|].
Tensor diagonal_matrix(const Tensor& x, int64_t offset = 0);
/// Sums a diagonal of the last two dims: x[.., R, C] -> y[..].
Tensor matrix_trace(const Tensor& x, int64_t offset = 0);

}  // namespace axle
