// Calls of models that training reads and never changes.
#pragma once

#include <functional>

#include "layers/models/model.h"

namespace axle {

/// Calls fn() with the state of the current invocation as the parameters and the state of `model`,
/// as in a call without training. The model is one of Model::frozen_models.
Tensor call_frozen(const Model& model, const std::function<Tensor()>& fn);

/// Returns the state of a layer with this frozen model: `own`, and the parameters of the model.
Tree<ParamSpec> with_frozen(Tree<ParamSpec> own, const Model& frozen);

}  // namespace axle
