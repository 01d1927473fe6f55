// Optimizers of matrices: they update the matrices of a model, another optimizer the rest.
#pragma once

#include <string>
#include <vector>

#include "learn/inner_optimizer.h"
#include "learn/param_matrices.h"

namespace axle {

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
