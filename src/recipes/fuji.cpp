// Fuji: decoder language models of the Llama family, sizes and versions as published.
//
// Source: Touvron et al. 2023, arXiv 2302.13971 (v1), 2307.09288 (v2); Grattafiori et al. 2024,
// arXiv 2407.21783 (v3).
#include "config/register.h"
#include "layers/repeat.h"
#include "modifiers/set_mesh.h"
#include "modifiers/set_remat.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

// The six axes of every recipe, least communication first.
Mesh mesh_of(int64_t data, int64_t fsdp) {
  return {
      {{"pipeline", 1}, {"data", data}, {"expert", 1}, {"fsdp", fsdp}, {"seq", 1}, {"model", 1}}};
}

// What differs between machines, and nothing else does.
const MeshRules kRules7B = {
    {"tpu-v5litepod-256.*",
     {mesh({{"data", -1}, {"fsdp", 256}}),
      remat("**.layer", save("q_proj", "k_proj", "v_proj", "attention_output"))}},
    {"tpu-v5p-.*",
     {mesh({{"fsdp", -1}}),
      remat("**.layer", save("q_proj", "k_proj", "v_proj", "attention_output"))}},
    {"gpu-(H100|H200)-.*",
     {mesh({{"data", -1}, {"fsdp", 8}}),
      remat("**.layer", save("q_proj", "k_proj", "v_proj", "attention_output"))}},
};

Trainer::Config fuji_7B(int64_t seq_len, int64_t max_step) {
  return language_model({
      .decoder = {.model_dim = 4096,
                  .vocab_size = 32 * kKi,
                  .max_seq_len = seq_len,
                  .layers = Repeat::Config{.num_layers = 32,
                                           .layer = llama_layer(
                                               {32, 32, 1e4,
                                                ScaledDim{.scale = 8.0 / 3, .multiple_of = 256}})}},
      .learner = {.peak_lr = 3e-4, .max_step = max_step, .weight_decay = 0.1},
      .tokens_per_batch = 4 * kMi,
      .seq_len = seq_len,
      .mesh = mesh_of(-1, 8),
      .mesh_rules = kRules7B,
  });
}

Trainer::Config fuji_7B_v1() { return fuji_7B(2048, 256 * kKi); }
AXLE_REGISTER(fuji_7B_v1, "fuji-7B-v1")

Trainer::Config fuji_7B_v2() { return fuji_7B(4096, 512 * kKi); }
AXLE_REGISTER(fuji_7B_v2, "fuji-7B-v2")

Trainer::Config fuji_1B_v3() {
  return language_model({
      .decoder = {.model_dim = 2048,
                  .vocab_size = 128 * kKi,
                  .max_seq_len = 8192,
                  .layers =
                      Repeat::Config{.num_layers = 16,
                                     .layer = llama_layer({32, 8, 5e5, ScaledDim{.scale = 4}})}},
      .learner = {.peak_lr = 3e-4, .max_step = 960 * kKi, .weight_decay = 0.1},
      .tokens_per_batch = 16 * kMi,
      .seq_len = 8192,
      .mesh = mesh_of(-1, 8),
  });
}
AXLE_REGISTER(fuji_1B_v3, "fuji-1B-v3")

// Small enough for a test of everything around it.
Trainer::Config fuji_test_v1() {
  return language_model({
      .decoder = {.model_dim = 8,
                  .vocab_size = 32,
                  .max_seq_len = 64,
                  .layers = Repeat::Config{.num_layers = 4,
                                           .layer = llama_layer(
                                               {4, 2, 1e4,
                                                ScaledDim{.scale = 8.0 / 3, .multiple_of = 16}})}},
      .learner = {.peak_lr = 6e-4, .max_step = 3000, .weight_decay = 0.01},
      .tokens_per_batch = 32 * 64,
      .seq_len = 64,
      .mesh = mesh_of(-1, 1),
  });
}
AXLE_REGISTER(fuji_test_v1, "fuji-test-v1")

// The same for five steps, each of the same size.
Trainer::Config fuji_golden_run_test_v1() {
  Trainer::Config cfg = fuji_test_v1();
  cfg.max_steps = 5;
  cfg.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate =
      ConstantRate{.value = 0.3};
  return cfg;
}
AXLE_REGISTER(fuji_golden_run_test_v1, "fuji-golden-run-test-v1")

}  // namespace
}  // namespace axle
