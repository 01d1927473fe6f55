// Envy: Switch Transformers as decoders, with a mixture of experts in every second layer.
//
// Source: apple/axlearn, experiments/text/gpt/envy.py; Fedus, Zoph & Shazeer 2021, arXiv
//   2101.03961, table 9 (layers, heads, experts). The load-balance loss is trained, which the
//   published configs drop. Their groups of tokens depend on the mesh; here a row is a group.
#include "config/register.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/mesh_axes.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/mesh_modifiers.h"
#include "nn/remat_policies.h"
#include "recipes/axlearn/family.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

struct EnvySize {
  int64_t num_layers, model_dim, num_heads, num_kv_heads, num_experts;
  DimFn hidden_dim;
  /// Groups of tokens for the dispatch.
  int64_t outer_batch = 4, num_groups = 256;
  /// A row is a group, so that no token of a batch of eight millions moves to another device.
  GroupBorders borders = GroupBorders::kRows;
};

// A projection of the experts whose weights the axis `seq` does not shard.
Child<Projection> expert_projection(const DimAxes& in, const DimAxes& out) {
  Child<Projection> slot = Linear::Config{.bias = false};
  slot.options.partition = PartitionSpec{{in, out}};
  return slot;
}

Child<Block> envy_layer(const EnvySize& s, Child<Block> feed_forward) {
  Attention::Config attention =
      normed_attention(s.num_heads, RoPE::Config{.theta = 5e5, .inner = FusedGroupedQKV::Config{}});
  attention.num_kv_heads = s.num_kv_heads;
  return TransformerLayer::Config{.attention = prenorm(std::move(attention)),
                                  .feed_forward = std::move(feed_forward)};
}

Child<Block> envy_layers(const EnvySize& s, NormPlace normed) {
  const Child<Mixer> dense =
      FeedForward::Config{.hidden_dim = s.hidden_dim, .gate = Linear::Config{.bias = false}};
  const Child<Mixer> sparse =
      MoE::Config{.num_experts = s.num_experts,
                  .router = Top2Router::Config{.losses = {.load_balance = 0.01, .z = 0}},
                  .dispatch = CapacityDispatch::Config{.outer_batch = s.outer_batch,
                                                       .num_groups = s.num_groups,
                                                       .train_capacity_factor = 2.0,
                                                       .eval_capacity_factor = 2.0,
                                                       .train_borders = s.borders},
                  .hidden_dim = s.hidden_dim,
                  .gate = expert_projection("fsdp", kShardAxes),
                  .up = expert_projection("fsdp", kShardAxes),
                  .down = expert_projection(kShardAxes, "fsdp")};
  Pattern::Config out{.num_layers = s.num_layers,
                      .pattern = {envy_layer(s, normed(dense)), envy_layer(s, normed(sparse))}};
  for (Child<Block>& slot : out.pattern) slot.options.remat = SaveDots{};
  return out;
}

LanguageModel envy_run(const EnvySize& s, NormPlace normed) {
  return {.decoder = {.model_dim = s.model_dim,
                      .vocab_size = 32 * kKi,
                      .max_seq_len = 8 * kKi,
                      .emb = sharded_embedding(),
                      .layers = envy_layers(s, normed)},
          .z_loss_scale = 1e-6,
          .learner = {.max_step = 250'000},
          .tokens_per_batch = 8 * kMi,
          .seq_len = 8 * kKi,
          .keep_every_steps = 5000,
          .eval_every_steps = 25'000,
          .mesh = all_axes({.expert = 16, .fsdp = -1}),
          .mesh_rules = {cpu_rule()}};
}

Trainer::Config envy(const EnvySize& s, MeshRules rules) {
  LanguageModel m = envy_run(s, &hybridnorm);
  std::ranges::move(m.mesh_rules, std::back_inserter(rules));
  m.mesh_rules = std::move(rules);
  m.learner.optimizer =
      with_mup_simple(AdamW::Config{}, {.model_dim = s.model_dim, .final_fraction = 0.005});
  return language_model(m);
}

const SaveNames kOffloadedProjections{.offload = kept_projections().names};

MeshRule envy_rule(std::string machine, Fn<RematPolicy()> policy) {
  MeshRule out = mesh_rule(std::move(machine), {.data = -1, .expert = 16, .fsdp = 16});
  out.modifiers.push_back(remat("**.pattern[*]", std::move(policy)));
  return out;
}

Trainer::Config envy_switch_base() {
  return envy({.num_layers = 12,
               .model_dim = 1536,
               .num_heads = 12,
               .num_kv_heads = 12,
               .num_experts = 128,
               .hidden_dim = ScaledDim{.scale = 4, .multiple_of = 128}},
              {envy_rule("tpu-v5p-(1024|2048)", SaveDots{}),
               envy_rule("tpu-v6e-256", kOffloadedProjections)});
}
AXLE_REGISTER(envy_switch_base, "envy-Switch-Base")

Trainer::Config envy_switch_large() {
  MeshRule one_slice = envy_rule("tpu-v6e-256", kOffloadedProjections);
  one_slice.modifiers.push_back(SetFields::Config{.set = {{"learner.microbatches", "4"}}});
  return envy({.num_layers = 24,
               .model_dim = 2048,
               .num_heads = 16,
               .num_kv_heads = 16,
               .num_experts = 128,
               .hidden_dim = ScaledDim{.scale = 4, .multiple_of = 128}},
              {envy_rule("tpu-v5p-(1024|2048)", kOffloadedProjections),
               envy_rule("tpu-v6e-256-4", kOffloadedProjections), one_slice});
}
AXLE_REGISTER(envy_switch_large, "envy-Switch-Large")

Trainer::Config envy_switch_xxl() {
  Trainer::Config cfg = envy({.num_layers = 24,
                              .model_dim = 8192,
                              .num_heads = 64,
                              .num_kv_heads = 8,
                              .num_experts = 64,
                              .hidden_dim = ScaledDim{.scale = 2.5, .multiple_of = 128}},
                             {});
  cfg.mesh = all_axes({.expert = 16, .fsdp = -1, .model = 8});
  return cfg;
}
AXLE_REGISTER(envy_switch_xxl, "envy-Switch-XXL")

// The published size for tests of everything around the model.
Trainer::Config envy_test() {
  LanguageModel m = envy_run({.num_layers = 4,
                              .model_dim = 8,
                              .num_heads = 4,
                              .num_kv_heads = 2,
                              .num_experts = 8,
                              .hidden_dim = ScaledDim{.scale = 8.0 / 3, .multiple_of = 16},
                              .outer_batch = 1,
                              .num_groups = 2,
                              .borders = GroupBorders::kTokens},
                             &prenorm);
  m.decoder.vocab_size = 32;
  m.decoder.max_seq_len = m.seq_len = 64;
  m.learner.max_step = m.keep_every_steps = 3000;
  m.tokens_per_batch = 16 * 64;
  m.mesh = all_axes({.data = -1});
  m.mesh_rules = {};
  m.learner.optimizer = with_mup_simple(
      AdamW::Config{},
      {.model_dim = 8, .warmup_steps = 2000, .final_fraction = 0.005, .weight_decay = 3.16e-4});
  return language_model(m);
}
AXLE_REGISTER(envy_test, "envy-test")

// The same parts at a size that learns to write text in a minute on two cores.
Trainer::Config envy_test_bytes() {
  return byte_model({.model_dim = 64,
                     .layers = envy_layers({.num_layers = 4,
                                            .model_dim = 64,
                                            .num_heads = 4,
                                            .num_kv_heads = 2,
                                            .num_experts = 4,
                                            .hidden_dim = FixedDim{.dim = 96},
                                            .outer_batch = 1,
                                            .num_groups = 16,
                                            .borders = GroupBorders::kTokens},
                                           &hybridnorm)});
}
AXLE_REGISTER(envy_test_bytes, "envy-test-bytes")

}  // namespace
}  // namespace axle
