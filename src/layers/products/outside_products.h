// Finds the weights that a traced call multiplies outside of the role Product.
#pragma once

#include <span>
#include <string>

#include "nn/layer.h"

namespace axle {

/// Where a call multiplies a weight.
struct WeightUseSite {
  std::string layer;  // path of the layer that multiplies
  std::string op;     // "dot_general", "ragged_dot", "convolution"
};

/// Returns the parameters that reach an operand of rank >= 2 of a product of two tensors
/// (is_product in the op's row) outside of every Product layer of `root`, each with the first such
/// op. What is computed from parameters and constants alone counts as the parameters.
///
/// `call` is the traced call of `root`. Its first parameters are the layers', with the
/// names in `paths`; all others are inputs.
Tree<WeightUseSite> weights_outside_products(const Layer& root, const Region& call,
                                             std::span<const std::string> paths);

}  // namespace axle
