// The model of slots that name none.
#pragma once

#include "config/fields/child.h"
#include "layers/models/model.h"

namespace axle {

/// Returns the config of a causal language model, CausalLM. A slot that starts with it takes the
/// fields of CausalLM, and its header needs no layer.
Child<Model> default_model();

}  // namespace axle
