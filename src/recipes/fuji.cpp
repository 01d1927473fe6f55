// Fuji: decoder language models of the Llama family, sizes and versions as published.
//
// Source: Touvron et al. 2023, arXiv 2302.13971 (v1), 2307.09288 (v2); Grattafiori et al. 2024,
// arXiv 2407.21783 (v3). docs/recipes.md lists the rules in which the published configs differ.
#include "config/register.h"
#include "layers/blocks/repeat.h"
#include "layers/mesh_axes.h"
#include "layers/models/lm_head.h"
#include "modifiers/replace_class.h"
#include "modifiers/sequence_parallel.h"
#include "modifiers/set_mesh.h"
#include "modifiers/set_partition.h"
#include "modifiers/set_remat.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

Mesh mesh_of(int64_t data, int64_t fsdp) {
  Mesh out;
  for (const std::string& axis : kMeshAxes)
    out.axes.push_back({.name = axis, .size = axis == "data" ? data : axis == "fsdp" ? fsdp : 1});
  return out;
}

// Remat policy: saves the projections of each layer for the backward pass, and recomputes the rest.
SetRemat::Config keep_projections() {
  return remat("**.layer", save("q_proj", "k_proj", "v_proj", "attention_output"));
}
// The same for machines with little device memory: offloads the projections to the host.
SetRemat::Config offload_projections() {
  return remat("**.layer",
               SaveNames{.offload = {"q_proj", "k_proj", "v_proj", "attention_output"}});
}

// The parameters of the rules below: the number of devices over which parameters are sharded on
// each machine, and properties of the model.
struct Rules {
  int64_t fsdp_tpu_v5p, fsdp_gpu;
  int64_t fsdp_tpu_v6e = 256;
  /// Patterns for the device counts that the numbers above do not divide. On such machines,
  /// parameters are sharded over all devices.
  std::string few_tpu_v5p = "[0-9]{1,2}", few_gpus = "[1-7]";
  bool grouped_queries = false;
  bool untied_head = false;  // with a large embedding: both are sharded like other weights
};

MeshRule rule(std::string machine, SetMesh::Config mesh, SetRemat::Config remat, const Rules& r) {
  MeshRule out{.machine = std::move(machine), .modifiers = {std::move(mesh), std::move(remat)}};
  if (r.untied_head) {
    out.modifiers.push_back(whole_rows("model.decoder.emb"));
    out.modifiers.push_back(parallel_vocabulary("model.decoder.lm_head"));
  }
  return out;
}

SetMesh::Config data_and_fsdp(int64_t fsdp) {
  if (fsdp < 0) return mesh({{.name = "fsdp", .size = -1}});
  return mesh({{.name = "data", .size = -1}, {.name = "fsdp", .size = fsdp}});
}

// A Trainium 2 chip counts as four devices with fast links. The mesh uses tensor parallelism within
// a chip, with norms sharded along the sequence. Projections fused in groups would be split across
// devices, so the rule uses separate projections.
MeshRule trainium2(const Rules& r) {
  MeshRule out =
      rule("neuron-trn2.*", mesh({{.name = "fsdp", .size = -1}, {.name = "model", .size = 4}}),
           keep_projections(), r);
  out.modifiers.push_back(SequenceParallel::Config{});
  if (!r.untied_head) out.modifiers.push_back(parallel_vocabulary("model.decoder.emb"));
  if (r.grouped_queries) {
    out.modifiers.push_back(
        ReplaceClass::Config{.replace = "FusedGroupedQKV", .with = "SeparateQKV"});
  }
  return out;
}

// Only the mesh rules differ between machines. Whole slices of v5e and v6e have 256 chips. On v5p
// and v6e, parameters are sharded over a part of the torus: over more chips, the compiler sums
// gradients of some shapes by all-reduce, which sends twice as much as reduce-scatter. On GPUs,
// parameters are sharded over the fewest nodes that can hold them.
MeshRules rules(const Rules& r) {
  return {
      rule("tpu-v5litepod-256.*", data_and_fsdp(256), offload_projections(), r),
      rule("tpu-v6e-256.*", data_and_fsdp(r.fsdp_tpu_v6e), offload_projections(), r),
      rule("tpu-(v5litepod|v6e)-.*", data_and_fsdp(-1), offload_projections(), r),
      rule("tpu-v5p-" + r.few_tpu_v5p, data_and_fsdp(-1), keep_projections(), r),
      rule("tpu-v5p-.*", data_and_fsdp(r.fsdp_tpu_v5p), keep_projections(), r),
      rule("gpu-(H100|H200|A100)-" + r.few_gpus, data_and_fsdp(-1), keep_projections(), r),
      rule("gpu-(H100|H200|A100)-.*", data_and_fsdp(r.fsdp_gpu), keep_projections(), r),
      trainium2(r),
      {.machine = "cpu-.*", .modifiers = {mesh({{.name = "data", .size = -1}})}},
  };
}

Trainer::Config fuji_7B(int64_t seq_len, int64_t max_step) {
  return language_model({
      .decoder = {.model_dim = 4096,
                  .vocab_size = 32 * kKi,
                  .max_seq_len = seq_len,
                  .layers = Repeat::Config{.num_layers = 32,
                                           .layer = llama_layer(
                                               {.num_heads = 32,
                                                .num_kv_heads = 32,
                                                .rope_theta = 1e4,
                                                .hidden_dim = ScaledDim{.scale = 8.0 / 3,
                                                                        .multiple_of = 256}})}},
      .learner = {.peak_lr = 3e-4, .max_step = max_step, .weight_decay = 0.1},
      .tokens_per_batch = 4 * kMi,
      .seq_len = seq_len,
      .mesh = mesh_of(-1, 8),
      .mesh_rules = rules({.fsdp_tpu_v5p = 16, .fsdp_gpu = 8, .fsdp_tpu_v6e = 128}),
  });
}

Trainer::Config fuji_7B_v1() { return fuji_7B(2048, 256 * kKi); }
AXLE_REGISTER(fuji_7B_v1, "fuji-7B-v1")

Trainer::Config fuji_7B_v2() { return fuji_7B(4096, 512 * kKi); }
AXLE_REGISTER(fuji_7B_v2, "fuji-7B-v2")

Trainer::Config fuji_70B_v2() {
  return language_model({
      .decoder = {.model_dim = 8192,
                  .vocab_size = 32 * kKi,
                  .max_seq_len = 4096,
                  .layers = Repeat::Config{.num_layers = 80,
                                           .layer = llama_layer(
                                               {.num_heads = 64,
                                                .num_kv_heads = 8,
                                                .rope_theta = 1e4,
                                                .hidden_dim =
                                                    ScaledDim{.scale = 3.5, .multiple_of = 256}})},
                  .lm_head = LmHead::Config{}},
      .learner = {.peak_lr = 1.5e-4, .max_step = 512 * kKi, .weight_decay = 0.1},
      .tokens_per_batch = 4 * kMi,
      .seq_len = 4096,
      .mesh = mesh_of(1, -1),
      .mesh_rules = rules({.fsdp_tpu_v5p = 128,
                           .fsdp_gpu = 128,
                           .few_tpu_v5p = "([0-9]{1,2}|128|384|640|896)",
                           .few_gpus = "[0-9]{1,2}",
                           .grouped_queries = true,
                           .untied_head = true}),
  });
}
AXLE_REGISTER(fuji_70B_v2, "fuji-70B-v2")

Trainer::Config fuji_1B_v3() {
  return language_model({
      .decoder = {.model_dim = 2048,
                  .vocab_size = 128 * kKi,
                  .max_seq_len = 8192,
                  .layers =
                      Repeat::Config{.num_layers = 16,
                                     .layer = llama_layer({.num_heads = 32,
                                                           .num_kv_heads = 8,
                                                           .rope_theta = 5e5,
                                                           .hidden_dim = ScaledDim{.scale = 4}})}},
      .learner = {.peak_lr = 3e-4, .max_step = 960 * kKi, .weight_decay = 0.1},
      .tokens_per_batch = 16 * kMi,
      .seq_len = 8192,
      .mesh = mesh_of(-1, 8),
      .mesh_rules =
          rules({.fsdp_tpu_v5p = 8, .fsdp_gpu = 8, .few_tpu_v5p = "8", .grouped_queries = true}),
  });
}
AXLE_REGISTER(fuji_1B_v3, "fuji-1B-v3")

// A model that is small enough for tests of everything around it.
Trainer::Config fuji_test_v1() {
  return language_model({
      .decoder = {.model_dim = 8,
                  .vocab_size = 32,
                  .max_seq_len = 64,
                  .layers = Repeat::Config{.num_layers = 4,
                                           .layer = llama_layer(
                                               {.num_heads = 4,
                                                .num_kv_heads = 2,
                                                .rope_theta = 1e4,
                                                .hidden_dim = ScaledDim{.scale = 8.0 / 3,
                                                                        .multiple_of = 16}})}},
      .learner = {.peak_lr = 6e-4, .max_step = 3000, .weight_decay = 0.01},
      .tokens_per_batch = 32 * 64,
      .seq_len = 64,
      .save_every_steps = 500,
      .keep_every_steps = 3000,
      .eval_every_steps = 1500,
      .mesh = mesh_of(-1, 1),
  });
}
AXLE_REGISTER(fuji_test_v1, "fuji-test-v1")

// The same recipe for five steps with a constant learning rate.
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
