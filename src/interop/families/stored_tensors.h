// What the files of other programs hold of a model: its parameters, and some state of its layers.
#pragma once

#include <vector>

#include "interop/foreign/weight_map.h"
#include "layers/models/model.h"

namespace axle {

/// Returns the specs of the parameters, and of the state that one of the rows names, by their paths
/// below the model.
Tree<ParamSpec> stored_tensors(const Model& model, const std::vector<WeightRow>& rows);
/// Takes the state out of `tensors`, which have the paths of stored_tensors(), and returns all
/// state of the model by its whole path: what `tensors` lack has its initial value.
Tree<HostTensor> take_layer_state(const Model& model, Tree<HostTensor>& tensors);

}  // namespace axle
