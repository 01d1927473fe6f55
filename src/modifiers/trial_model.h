// Builds and traces the model of a config tree, without values, to learn what a change does to it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/walk.h"
#include "layers/models/model.h"
#include "layers/products/outside_products.h"

namespace axle {

/// Returns the root, if it is the slot of a model, or else its field `model`; nullptr if there is
/// none.
const Child<Model>* find_model(const Slot& root);

/// Returns the lines with which the model's construction refuses; none if it can be built.
std::vector<std::string> mistakes_of(const Child<Model>& model);

/// A pattern of paths of parameters, and the config path that holds it, for messages.
struct ParameterPattern {
  std::string where, pattern;
};
/// Throws NoMatch if one of the patterns matches no parameter. A model that cannot be built says
/// why elsewhere: it passes.
void check_patterns_of_parameters(const Child<Model>& model,
                                  const std::vector<ParameterPattern>& patterns);

/// Tries changes of a config tree: one stays only if the tree's model can be built with it.
class ModelTrial {
 public:
  /// Without a model, every change stays.
  explicit ModelTrial(const Child<Model>* model);
  /// Calls `change`, which puts another class into the slot. Returns the lines with which the model
  /// refuses it, after which the slot has its old class again; none: the change stays.
  std::vector<std::string> refusals(const Slot& slot, const std::function<void()>& change) const;

 private:
  const Child<Model>* model_;
  std::vector<std::string> before_;  // mistakes that no change made
};

/// Traces a training call of the model for a small batch and returns its weights outside of
/// products, by their paths, which begin with "model". Throws Error if the model cannot be built or
/// traced.
Tree<WeightUseSite> weights_outside_products(const Child<Model>& model);

}  // namespace axle
