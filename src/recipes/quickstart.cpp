// A byte-level model that learns to write text in two minutes on two cores.
#include "config/register.h"
#include "layers/blocks/stack.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

Trainer::Config quickstart() {
  return byte_model(
      {.model_dim = 128,
       .layers =
           Stacked::Config{.num_layers = 4,
                           .layer = llama_layer(
                               {.num_heads = 4,
                                .num_kv_heads = 4,
                                .rope_theta = 1e4,
                                .hidden_dim = ScaledDim{.scale = 8.0 / 3, .multiple_of = 32}})},
       .num_steps = 440,
       .warmup_steps = 50,
       .seq_len = 256,
       .save_every_steps = 200});
}
AXLE_REGISTER(quickstart, "quickstart")

}  // namespace
}  // namespace axle
