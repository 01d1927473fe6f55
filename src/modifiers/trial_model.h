// Builds and traces the model of a config tree, without values, to learn what a change does to it.
#pragma once

#include "config/config_ref.h"
#include "layers/models/model.h"
#include "layers/products/outside_products.h"

namespace axle {

/// Returns the root, if it is the slot of a model, or else its field `model`; nullptr if there is
/// none.
const Child<Model>* find_model(ConfigView root);

/// Returns the lines with which the model's construction refuses; none if it can be built.
std::vector<std::string> mistakes_of(const Child<Model>& model);
/// Returns those that are not among `before`.
std::vector<std::string> new_mistakes(const Child<Model>& model,
                                      const std::vector<std::string>& before);

/// Traces a training call of the model for a small batch and returns its weights outside of
/// products, by their paths, which begin with "model". Throws Error if the model cannot be built or
/// traced.
Tree<WeightUseSite> weights_outside_products(const Child<Model>& model);

}  // namespace axle
