// Honeycrisp: models like Llama with norms of queries and keys, grouped queries and the optimizer
// AdaStar.
//
// Source: apple/axlearn, experiments/text/gpt/honeycrisp.py.
#include "config/register.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/mesh_axes.h"
#include "learn/optimizers/adafactor.h"
#include "learn/optimizers/wrapping_optimizers.h"
#include "nn/remat_policies.h"
#include "recipes/axlearn/family.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

struct HoneycrispSize {
  int64_t num_layers, model_dim, num_heads, num_kv_heads;
  DimFn hidden_dim;
  int64_t vocab_size = 48 * kKi, seq_len = 4 * kKi, rows, max_step, warmup_steps = 5000;
  int64_t save_every_steps = 5000, keep_every_steps = 5000;
  AllAxes mesh = {.data = -1};
  MeshRules rules = {};
};

Trainer::Config honeycrisp(const HoneycrispSize& s) {
  Attention::Config attention =
      normed_attention(s.num_heads, RoPE::Config{.theta = 5e5, .inner = FusedGroupedQKV::Config{}});
  attention.num_kv_heads = s.num_kv_heads;
  Child<Block> layer = TransformerLayer::Config{
      .attention = prenorm(std::move(attention)),
      .feed_forward = prenorm(
          FeedForward::Config{.hidden_dim = s.hidden_dim, .gate = Linear::Config{.bias = false}})};
  layer.options.remat = kept_projections();
  Child<Optimizer> optimizer = with_mup_simple(
      AdaStar::Config{.gradient_mean = {},
                      .square_mean = {.decay = 0.95},
                      .eps = 0,
                      .eps_square = 1e-30,
                      .max_rms = 1.0,
                      .update_mean = MovingMean{.decay = 0.95, .debias = Debias::kNo}},
      {.model_dim = s.model_dim,
       .warmup_steps = s.warmup_steps,
       .final_fraction = 0.005,
       .weight_decay = 3.16e-4});
  Trainer::Config cfg = language_model({
      .decoder = {.model_dim = s.model_dim,
                  .vocab_size = s.vocab_size,
                  .max_seq_len = s.seq_len,
                  .emb = sharded_embedding(),
                  .layers = Repeat::Config{.num_layers = s.num_layers, .layer = layer}},
      .z_loss_scale = 1e-6,
      .learner = {.max_step = s.max_step,
                  .optimizer = SkipAndClip::Config{.inner = std::move(optimizer),
                                                   .drop_norm = FixedNorm{.value = 100},
                                                   .max_norm = 1.0},
                  .clip_global_norm = {}},  // SkipAndClip clips
      .tokens_per_batch = s.rows * s.seq_len,
      .seq_len = s.seq_len,
      .save_every_steps = s.save_every_steps,
      .keep_every_steps = s.keep_every_steps,
      .eval_every_steps = 25'000,
      .mesh = all_axes(s.mesh),
      .mesh_rules = s.rules,
  });
  cfg.on_non_finite = OnNonFinite::kSkip;
  return cfg;
}

Trainer::Config honeycrisp_85M() {
  return honeycrisp(
      {.num_layers = 12,
       .model_dim = 768,
       .num_heads = 12,
       .num_kv_heads = 6,
       .hidden_dim = ScaledDim{.scale = 3, .multiple_of = 32},
       .rows = 256,
       .max_step = 600'000,
       .save_every_steps = 1000,
       .rules = {mesh_rule("gpu-A100-(16|32|64|128)", {.data = -1, .fsdp = 8}), cpu_rule()}});
}
AXLE_REGISTER(honeycrisp_85M, "honeycrisp-85M")

Trainer::Config honeycrisp_3B() {
  return honeycrisp({.num_layers = 26,
                     .model_dim = 3072,
                     .num_heads = 24,
                     .num_kv_heads = 8,
                     .hidden_dim = FixedDim{.dim = 8064},
                     .rows = 2048,
                     .max_step = 750'000,
                     .mesh = {.data = -1, .fsdp = 8},
                     .rules = {mesh_rule("tpu-v4-256", {.fsdp = -1}),
                               mesh_rule("tpu-v5litepod-256", {.data = -1, .fsdp = 256}),
                               mesh_rule("tpu-v5p-(1024|2048|4096)", {.data = -1}), cpu_rule()}});
}
AXLE_REGISTER(honeycrisp_3B, "honeycrisp-3B")

// The published size for tests of everything around the model.
Trainer::Config honeycrisp_test() {
  return honeycrisp({.num_layers = 4,
                     .model_dim = 8,
                     .num_heads = 4,
                     .num_kv_heads = 2,
                     .hidden_dim = ScaledDim{.scale = 8.0 / 3, .multiple_of = 16},
                     .vocab_size = 32,
                     .seq_len = 64,
                     .rows = 16,
                     .max_step = 3000,
                     .warmup_steps = 2000,
                     .keep_every_steps = 3000});
}
AXLE_REGISTER(honeycrisp_test, "honeycrisp-test")

}  // namespace
}  // namespace axle
