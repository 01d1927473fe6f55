// Diagonals and triangles of matrices.
//
// `offset` chooses a diagonal: element [i, i + offset]. 0 is the main one, positive ones are above.
// Leading dims are batch dims.
#pragma once

#include "ir/tensor.h"

namespace axle {

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
