// The split that optimizers of matrices make: their own matrices, and the parameters that another
// optimizer updates.
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
  /// naming the config path, if a pattern matches no parameter. Those of vocabulary_weights
  /// need not match.
  MatrixSplit(const Tree<ParamSpec>& params, const std::vector<std::string>& exclude,
              const Child<Optimizer>& other_config, const Scope& scope);

  Tree<ParamSpec> own;
  Tree<MatrixDims> dims;  // of `own`
  InnerOptimizer others;  // state below "others"
};

}  // namespace axle
