// Mixtral: a Llama whose feed-forward layers are mixtures of experts.
//
// Source: Jiang et al. 2024, arXiv 2401.04088, section 2 and table 1.
#include "config/register.h"
#include "layers/blocks/stack.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/models/causal_lm.h"
#include "nn/remat_policies.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

// A layer of the Llama family with experts in place of its feed-forward.
Child<Block> layer(LlamaLayer sizes, int64_t num_experts) {
  sizes.feed_forward = MoE::Config{.num_experts = num_experts,
                                   .router = TopKRouter::Config{.top_k = 2},
                                   .hidden_dim = sizes.hidden_dim,
                                   .gate = Linear::Config{.bias = false}};
  Child<Block> slot = llama_layer(sizes);
  slot.options.remat = kept_projections();
  return slot;
}

Trainer::Config mixtral_8x7B() {
  return language_model({
      .decoder = {.model_dim = 4096,
                  .vocab_size = 32000,
                  .max_seq_len = 32 * kKi,
                  .layers = Repeat::Config{.num_layers = 32,
                                           .layer = layer({.num_heads = 32,
                                                           .num_kv_heads = 8,
                                                           .rope_theta = 1e6,
                                                           .hidden_dim = FixedDim{.dim = 14336}},
                                                          8)},
                  .lm_head = LmHead::Config{}},
      .learner = {.peak_lr = 3e-4,
                  .max_step = 512 * kKi,
                  .weight_decay = 0.1,
                  .undecayed = kScalesAndBiases},
      .tokens_per_batch = 4 * kMi,
      .seq_len = 8192,
      .mesh = {.axes = {{.name = "expert", .size = 8}, {.name = "fsdp", .size = -1}}},
      .mesh_rules = {cpu_rule()},
  });
}
AXLE_REGISTER(mixtral_8x7B, "mixtral-8x7B")

// The same at a size that learns in a minute on two cores.
Trainer::Config mixtral_test() {
  return byte_model({.model_dim = 64,
                     .layers = Repeat::Config{.num_layers = 2,
                                              .layer = layer({.num_heads = 4,
                                                              .num_kv_heads = 2,
                                                              .rope_theta = 1e4,
                                                              .hidden_dim = FixedDim{.dim = 96}},
                                                             4)},
                     .undecayed = kScalesAndBiases});
}
AXLE_REGISTER(mixtral_test, "mixtral-test")

}  // namespace
}  // namespace axle
