#include "layers/models/default_model.h"

#include "layers/models/causal_lm.h"

namespace axle {

Child<Model> default_model() { return CausalLM::Config{}; }

}  // namespace axle
