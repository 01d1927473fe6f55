// Optimizers of matrices: they update the matrices of a model, another optimizer the rest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/optimizer_groups.h"
#include "nn/param.h"

namespace axle {

// Parameters as stacks of matrices, for optimizers that treat each matrix as a whole: those of
// different layers, heads and experts are different matrices.

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

/// Patterns of the weights at the two ends of a language model, which have a row for each token.
std::vector<std::string> vocabulary_weights();

/// The matrices that an optimizer updates itself, and `others` with all other parameters.
struct MatrixSplit {
  /// `exclude` holds patterns of the paths of matrices that belong to others. Throws ConfigError,
  /// naming the config path, if a pattern matches no parameter. The patterns of
  /// vocabulary_weights may match nothing.
  MatrixSplit(const Tree<ParamSpec>& params, const std::vector<std::string>& exclude,
              const Child<Optimizer>& other_config, const Scope& scope);

  Tree<ParamSpec> own;
  Tree<MatrixDims> dims;  // of `own`
  InnerOptimizer others;  // state below "others"
};

/// An optimizer of matrices, with another one for the other parameters.
class MatrixOptimizer : public Optimizer {
 public:
  explicit MatrixOptimizer(MatrixSplit split) : split_(std::move(split)) {}
  Tree<Tensor> gradient_point(const Tree<Tensor>& params, const Tree<Tensor>& state) const final;
  Tree<Tensor> measure(const MeasureInputs& in) const final;

 protected:
  MatrixSplit split_;
};

}  // namespace axle
