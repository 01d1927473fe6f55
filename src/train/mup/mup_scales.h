// The maximal update parametrisation: learning rates and initial weights that stay right when a
// model becomes wider.
//
// Source: Yang et al. 2022, arXiv 2203.03466, table 3 (Adam).
#pragma once

#include <string_view>

#include "base/tree.h"
#include "nn/param.h"

namespace axle {

/// The factors by which a wide model differs from its base model.
struct MuPScales {
  /// Of the learning rate, by the path of the parameter: 1 / (growth of its inputs). Parameters
  /// whose factor is 1 are left out: vectors, and weights whose inputs do not grow.
  Tree<double> learning_rate;
  /// Of the variance of the initial weights, besides that of the initialiser's fan. Together they
  /// give 1 / (growth of its inputs) for hidden weights, the square of it for weights whose outputs
  /// do not grow, and 1 for weights whose inputs do not grow. Weights whose factor is 1, and those
  /// without a VarianceScaling with a fan, are left out.
  Tree<double> init_variance;
};

/// Compares the parameters of two models of the same family. Throws ConfigError, naming `where`, if
/// they do not have the same parameters but for the sizes of their dims.
MuPScales mup_scales(const Tree<ParamSpec>& base, const Tree<ParamSpec>& wide,
                     std::string_view where);

}  // namespace axle
