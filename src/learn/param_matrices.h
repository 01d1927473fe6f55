// Parameters as stacks of matrices, for optimizers that treat each matrix as a whole: those of
// different layers, heads and experts are different matrices.
#pragma once

#include <optional>
#include <vector>

#include "nn/param.h"

namespace axle {

/// The dims of the rows and the columns of a parameter's matrices, counted from the front. All
/// other dims count matrices.
struct MatrixDims {
  int64_t row, column;
};

/// Returns the dims of the parameter's matrices by its fans: a row for each index of the last input
/// dim, a column for each index of the last output dim. So each head of a projection [D, N, H] has
/// a matrix of D rows and H columns, and each layer of a Repeat has its own. Returns none for
/// parameters without matrices: vectors, and stacks of vectors.
std::optional<MatrixDims> matrix_dims(const ParamSpec& spec);

/// Traced: moves the dims of the matrices to the end: [.., rows, columns].
Tensor to_matrices(const Tensor& x, const MatrixDims& dims);
/// Traced: the inverse of to_matrices.
Tensor from_matrices(const Tensor& matrices, const MatrixDims& dims);

/// Returns the dims over which one layer's parameter extends: all but the batch dims of its fans,
/// which a Repeat adds. Norms of single parameters run over these.
std::vector<int64_t> block_axes(const ParamSpec& spec);
/// Traced: the root of the mean square of each block, and of the sum of squares. Reduced dims have
/// size 1.
Tensor block_rms(const Tensor& x, const ParamSpec& spec);
Tensor block_norm(const Tensor& x, const ParamSpec& spec);

}  // namespace axle
