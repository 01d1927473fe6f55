#include "recipes/fuji/fuji.h"

#include <algorithm>
#include <optional>

#include "config/register.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/mesh_modifiers.h"
#include "nn/remat_policies.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

SetRemat::Config keep_projections() { return remat("**.layer", kept_projections()); }
SetRemat::Config keep_hidden_too() {
  SaveNames kept = kept_projections();
  kept.names.insert(kept.names.end(), {"gate", "up"});
  return remat("**.layer", kept);
}
// For machines with little device memory: offloads the projections to the host.
SetRemat::Config offload_projections() {
  return remat("**.layer", SaveNames{.offload = kept_projections().names});
}

MeshRule rule(std::string machine, SetMesh::Config mesh, SetRemat::Config remat, const FujiRules& r,
              std::optional<int64_t> rows = {}) {
  MeshRule out{.machine = std::move(machine), .modifiers = {std::move(mesh), std::move(remat)}};
  out.modifiers.push_back(device_rows(rows.value_or(r.rows_per_batch / r.published_devices)));
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
MeshRule trainium2(const FujiRules& r) {
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

}  // namespace

MeshRules fuji_rules(const FujiRules& r) {
  const std::string few_gpus = "gpu-(H100|H200|A100)-" + r.few_gpus;
  MeshRules out = {
      rule("tpu-v5litepod-256.*", data_and_fsdp(256), offload_projections(), r),
      rule("tpu-v6e-256.*", data_and_fsdp(r.fsdp_tpu_v6e), offload_projections(), r),
      rule("tpu-(v5litepod|v6e)-.*", data_and_fsdp(-1), offload_projections(), r),
      rule("tpu-v5p-" + r.few_tpu_v5p, data_and_fsdp(-1), keep_projections(), r),
      rule("tpu-v5p-.*", data_and_fsdp(r.fsdp_tpu_v5p), keep_projections(), r),
      rule(few_gpus, data_and_fsdp(-1), keep_projections(), r, rows_of_gpu(r.seq_len)),
      rule("gpu-(H100|H200|A100)-.*", data_and_fsdp(r.fsdp_gpu), keep_projections(), r),
      trainium2(r),
      cpu_rule(),
  };
  if (r.gpu_keeps_hidden) {
    out.insert(
        std::ranges::find(out, few_gpus, &MeshRule::machine),
        rule("gpu-(H100|H200)-(256|512|1024)", data_and_fsdp(r.fsdp_gpu), keep_hidden_too(), r));
  }
  return out;
}

// Fuji: decoder language models of the Llama family, sizes and versions as published.
//
// Source: Touvron et al. 2023, arXiv 2302.13971 (v1), 2307.09288 (v2); Grattafiori et al. 2024,
// arXiv 2407.21783 (v3). docs/recipes.md lists the rules in which the published configs differ.

namespace {

// What the versions share.
struct Version {
  int64_t vocab_size, seq_len, tokens_per_batch, max_step;
  double rope_theta;
};
constexpr Version kV1{.vocab_size = 32 * kKi,
                      .seq_len = 2048,
                      .tokens_per_batch = 4 * kMi,
                      .max_step = 256 * kKi,
                      .rope_theta = 1e4};
constexpr Version kV2{.vocab_size = 32 * kKi,
                      .seq_len = 4096,
                      .tokens_per_batch = 4 * kMi,
                      .max_step = 512 * kKi,
                      .rope_theta = 1e4};
constexpr Version kV3{.vocab_size = 128 * kKi,
                      .seq_len = 8192,
                      .tokens_per_batch = 16 * kMi,
                      .max_step = 960 * kKi,
                      .rope_theta = 5e5};
// The vocabulary of Llama 3's own tokenizer.
constexpr Version kV3Tiktoken{.vocab_size = 128256,
                              .seq_len = 8192,
                              .tokens_per_batch = 16 * kMi,
                              .max_step = 960 * kKi,
                              .rope_theta = 5e5};

struct FujiSize {
  int64_t num_layers, model_dim, num_heads, num_kv_heads;
  DimFn hidden_dim;
  double peak_lr = 3e-4;
  bool untied_head = false;
  /// True: on machines without a rule, too, each layer keeps only its projections for the backward
  /// pass. All that layers of this size compute fits on no machine.
  bool keeps_projections = false;
};

Trainer::Config fuji(const FujiSize& s, const Version& v, Mesh mesh, FujiRules rules) {
  rules.grouped_queries = s.num_kv_heads != s.num_heads;
  rules.untied_head = s.untied_head;
  rules.seq_len = v.seq_len;
  rules.rows_per_batch = v.tokens_per_batch / v.seq_len;
  Child<Block> layer = llama_layer({.num_heads = s.num_heads,
                                    .num_kv_heads = s.num_kv_heads,
                                    .rope_theta = v.rope_theta,
                                    .hidden_dim = s.hidden_dim});
  if (s.keeps_projections) layer.options.remat = kept_projections();
  LanguageModel m{
      .decoder = {.model_dim = s.model_dim,
                  .vocab_size = v.vocab_size,
                  .max_seq_len = v.seq_len,
                  .layers = Repeat::Config{.num_layers = s.num_layers, .layer = std::move(layer)}},
      .learner = {.peak_lr = s.peak_lr, .max_step = v.max_step, .weight_decay = 0.1},
      .tokens_per_batch = v.tokens_per_batch,
      .seq_len = v.seq_len,
      .mesh = std::move(mesh),
      .mesh_rules = fuji_rules(rules),
  };
  if (s.untied_head) m.decoder.lm_head = LmHead::Config{};
  return language_model(m);
}

Trainer::Config fuji_1B(const Version& v) {
  return fuji({.num_layers = 16,
               .model_dim = 2048,
               .num_heads = 32,
               .num_kv_heads = 8,
               .hidden_dim = ScaledDim{.scale = 4}},
              v, all_axes({.data = -1, .fsdp = 8}),
              {.fsdp_tpu_v5p = 8, .fsdp_gpu = 8, .few_tpu_v5p = "8"});
}
Trainer::Config fuji_1B_v3() { return fuji_1B(kV3); }
AXLE_REGISTER(fuji_1B_v3, "fuji-1B-v3")
Trainer::Config fuji_1B_v3_tiktoken() { return fuji_1B(kV3Tiktoken); }
AXLE_REGISTER(fuji_1B_v3_tiktoken, "fuji-1B-v3-tiktoken")

Trainer::Config fuji_3B(const Version& v) {
  return fuji({.num_layers = 28,
               .model_dim = 3072,
               .num_heads = 24,
               .num_kv_heads = 8,
               .hidden_dim = FixedDim{.dim = 8192}},
              v, all_axes({.data = -1, .fsdp = 8}),
              {.fsdp_tpu_v5p = 8, .fsdp_gpu = 8, .few_tpu_v5p = "8"});
}
Trainer::Config fuji_3B_v3() { return fuji_3B(kV3); }
AXLE_REGISTER(fuji_3B_v3, "fuji-3B-v3")
Trainer::Config fuji_3B_v3_tiktoken() { return fuji_3B(kV3Tiktoken); }
AXLE_REGISTER(fuji_3B_v3_tiktoken, "fuji-3B-v3-tiktoken")

Trainer::Config fuji_7B(const Version& v, int64_t num_kv_heads, const FujiRules& rules) {
  return fuji({.num_layers = 32,
               .model_dim = 4096,
               .num_heads = 32,
               .num_kv_heads = num_kv_heads,
               .hidden_dim = ScaledDim{.scale = 8.0 / 3, .multiple_of = 256}},
              v, all_axes({.data = -1, .fsdp = 8}), rules);
}
const FujiRules k7BRules{
    .fsdp_tpu_v5p = 16, .fsdp_gpu = 8, .fsdp_tpu_v6e = 128, .gpu_keeps_hidden = true};
Trainer::Config fuji_7B_v1() { return fuji_7B(kV1, 32, k7BRules); }
AXLE_REGISTER(fuji_7B_v1, "fuji-7B-v1")
Trainer::Config fuji_7B_v2() { return fuji_7B(kV2, 32, k7BRules); }
AXLE_REGISTER(fuji_7B_v2, "fuji-7B-v2")

const FujiRules k8BRules{.fsdp_tpu_v5p = 64, .fsdp_gpu = 8};
Trainer::Config fuji_7B_v3() { return fuji_7B(kV3, 8, k8BRules); }
AXLE_REGISTER(fuji_7B_v3, "fuji-7B-v3")

Trainer::Config fuji_8B(const Version& v) {
  return fuji({.num_layers = 32,
               .model_dim = 4096,
               .num_heads = 32,
               .num_kv_heads = 8,
               .hidden_dim = ScaledDim{.scale = 3.5, .multiple_of = 256},
               .untied_head = true},
              v, all_axes({.data = -1, .fsdp = 8}), k8BRules);
}
Trainer::Config fuji_8B_v3_tiktoken() { return fuji_8B(kV3Tiktoken); }
AXLE_REGISTER(fuji_8B_v3_tiktoken, "fuji-8B-v3-tiktoken")

Trainer::Config fuji_70B(const Version& v, int64_t num_kv_heads) {
  return fuji({.num_layers = 80,
               .model_dim = 8192,
               .num_heads = 64,
               .num_kv_heads = num_kv_heads,
               .hidden_dim = ScaledDim{.scale = 3.5, .multiple_of = 256},
               .peak_lr = 1.5e-4,
               .untied_head = true},
              v, all_axes({.fsdp = -1}),
              {.fsdp_tpu_v5p = 128,
               .fsdp_gpu = 128,
               .few_tpu_v5p = "([0-9]{1,2}|128|384|640|896)",
               .few_gpus = "[0-9]{1,2}",
               .published_devices = 512});
}
Trainer::Config fuji_70B_v1() {
  Version v1 = kV1;
  v1.max_step = 367001;  // 1.4 Ti tokens
  return fuji_70B(v1, 64);
}
AXLE_REGISTER(fuji_70B_v1, "fuji-70B-v1")
Trainer::Config fuji_70B_v2() { return fuji_70B(kV2, 8); }
AXLE_REGISTER(fuji_70B_v2, "fuji-70B-v2")
Trainer::Config fuji_70B_v3() { return fuji_70B(kV3, 8); }
AXLE_REGISTER(fuji_70B_v3, "fuji-70B-v3")
Trainer::Config fuji_70B_v3_tiktoken() { return fuji_70B(kV3Tiktoken, 8); }
AXLE_REGISTER(fuji_70B_v3_tiktoken, "fuji-70B-v3-tiktoken")

Trainer::Config fuji_405B(const Version& v) {
  return fuji({.num_layers = 126,
               .model_dim = 16384,
               .num_heads = 128,
               .num_kv_heads = 8,
               .hidden_dim = FixedDim{.dim = 53248},
               .peak_lr = 1.5e-4,
               .untied_head = true,
               .keeps_projections = true},
              v, all_axes({.fsdp = -1}),
              {.fsdp_tpu_v5p = -1, .fsdp_gpu = -1, .published_devices = 2048});
}
Trainer::Config fuji_405B_v3() { return fuji_405B(kV3); }
AXLE_REGISTER(fuji_405B_v3, "fuji-405B-v3")
Trainer::Config fuji_405B_v3_tiktoken() { return fuji_405B(kV3Tiktoken); }
AXLE_REGISTER(fuji_405B_v3_tiktoken, "fuji-405B-v3-tiktoken")

// A model that is small enough for tests of everything around it. AXLearn has one of each version
// and vocabulary. At this size, v2 equals v1 and v3-tiktoken equals v3: versions differ only in the
// base of the rotary positions, which changed with v3, and vocabularies not at all.
LanguageModel fuji_test(double rope_theta) {
  return {
      .decoder = {.model_dim = 8,
                  .vocab_size = 32,
                  .max_seq_len = 64,
                  .layers = Repeat::Config{.num_layers = 4,
                                           .layer = llama_layer(
                                               {.num_heads = 4,
                                                .num_kv_heads = 2,
                                                .rope_theta = rope_theta,
                                                .hidden_dim = ScaledDim{.scale = 8.0 / 3,
                                                                        .multiple_of = 16}})}},
      .learner = {.peak_lr = 6e-4, .max_step = 3000, .weight_decay = 0.01},
      .tokens_per_batch = 32 * 64,
      .seq_len = 64,
      .save_every_steps = 500,
      .keep_every_steps = 3000,
      .eval_every_steps = 1500,
      .mesh = all_axes({.data = -1, .fsdp = 1}),
  };
}
Trainer::Config fuji_test_v1() { return language_model(fuji_test(1e4)); }
AXLE_REGISTER(fuji_test_v1, "fuji-test-v1")
Trainer::Config fuji_test_v2() { return language_model(fuji_test(1e4)); }
AXLE_REGISTER(fuji_test_v2, "fuji-test-v2")
Trainer::Config fuji_test_v3() { return language_model(fuji_test(5e5)); }
AXLE_REGISTER(fuji_test_v3, "fuji-test-v3")
Trainer::Config fuji_test_v3_tiktoken() { return language_model(fuji_test(5e5)); }
AXLE_REGISTER(fuji_test_v3_tiktoken, "fuji-test-v3-tiktoken")

// A recipe for five steps with a constant learning rate.
Trainer::Config golden_run(double rope_theta) {
  LanguageModel m = fuji_test(rope_theta);
  m.learner.max_step = 5;
  m.learner.optimizer = AdamW::Config{.learning_rate = ConstantRate{.value = 0.3},
                                      .weight_decay = m.learner.weight_decay};
  return language_model(m);
}
Trainer::Config fuji_golden_run_test_v1() { return golden_run(1e4); }
AXLE_REGISTER(fuji_golden_run_test_v1, "fuji-golden-run-test-v1")
Trainer::Config fuji_golden_run_test_v2() { return golden_run(1e4); }
AXLE_REGISTER(fuji_golden_run_test_v2, "fuji-golden-run-test-v2")
Trainer::Config fuji_golden_run_test_v3() { return golden_run(5e5); }
AXLE_REGISTER(fuji_golden_run_test_v3, "fuji-golden-run-test-v3")

}  // namespace
}  // namespace axle
