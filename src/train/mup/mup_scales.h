// The maximal update parametrisation: learning rates and initial weights that stay right when a
// model becomes wider.
//
// Letters, for this file only: growths of the inputs (n) and the outputs (m) of a weight.
//
// Source: Yang et al. 2022, arXiv 2203.03466, table 3 (SGD and Adam); Yang et al. 2023, arXiv
// 2310.17813, section 2 (updates of known singular values).
#pragma once

#include <string_view>

#include "base/tree.h"
#include "learn/optimizer.h"
#include "nn/param.h"

namespace axle {

/// A model, and how large the updates of its trained parameters are, as far as that is known.
struct MuPModel {
  Tree<ParamSpec> specs;
  Tree<UpdateSize> updates;
};

/// The factors by which a wide model differs from its base model.
struct MuPScales {
  /// The weights whose inputs grow, and n.
  Tree<double> inputs;
  /// Of the learning rate, by the path of the parameter. Parameters whose factor is 1 are left out.
  ///   kElements: 1 / n. kGradient: m / n, for vectors m. kParameter: 1 / n, divided by the growth
  ///   of the initial weights. kSpectral: the growth of sqrt(R C) / (n gain), for matrices of R
  ///   rows and C columns.
  Tree<double> learning_rate;
  /// Of the variance of the initial weights, besides that of the initialiser's fan. Together they
  /// give 1 / n for hidden weights, the square of it for weights whose outputs do not grow, and 1
  /// for weights whose inputs do not grow. Weights whose factor is 1, and those without a
  /// VarianceScaling with a fan, are left out.
  Tree<double> init_variance;
};

/// Compares the parameters of two models of the same family. Throws ConfigError, naming `where`, if
/// they do not have the same parameters but for the sizes of their dims.
MuPScales mup_scales(const MuPModel& base, const MuPModel& wide, std::string_view where);

}  // namespace axle
