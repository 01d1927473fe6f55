// Mamba-2: decoder language models without attention.
//
// Source: Dao & Gu 2024, arXiv 2405.21060, section 9.2 and appendix E; the published model of 130M
//   parameters has 24 layers of width 768 and was trained on 300 billion tokens of the Pile.
#include "config/register.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/state_space/mamba.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

Child<Block> layers(int64_t num_layers, Mamba2::Config mixer) {
  mixer.norm = llama_norm();
  return Repeat::Config{.num_layers = num_layers,
                        .layer = PreNorm::Config{.norm = llama_norm(), .body = std::move(mixer)}};
}

Trainer::Config mamba2_130M() {
  return language_model({
      .decoder = {.model_dim = 768,
                  .vocab_size = 50288,
                  .max_seq_len = 2048,
                  .layers = layers(24, {.head_dim = 64, .state_dim = 128, .num_groups = 1})},
      .learner = {.peak_lr = 3e-3,
                  .warmup_steps = 715,
                  .max_step = 572204,
                  .final_fraction = 1e-5 / 3e-3,
                  .weight_decay = 0.1,
                  .undecayed = kScalesAndBiases},
      .tokens_per_batch = 256 * 2048,
      .seq_len = 2048,
      .mesh = one_axis("data"),
      .mesh_rules = {cpu_rule()},
  });
}
AXLE_REGISTER(mamba2_130M, "mamba2-130M")

// The same at a size that learns in a minute on two cores.
Trainer::Config mamba2_test() {
  return byte_model({.model_dim = 64,
                     .layers = layers(2, {.head_dim = 16, .state_dim = 16, .chunk_size = 32}),
                     .undecayed = kScalesAndBiases});
}
AXLE_REGISTER(mamba2_test, "mamba2-test")

}  // namespace
}  // namespace axle
