// Gala: models like Llama with norms of queries and keys, as baselines for variants of attention;
// Gala-sigmoid is the variant without softmax.
//
// Source: apple/axlearn, experiments/text/gpt/gala.py and gala_sigmoid.py; Ramapuram et al. 2024,
//   arXiv 2409.04431. The published patterns of mup-simple miss the fused projection of models
//   without rotary positions; here its rate is scaled like the rates of other linear layers.
#include "config/register.h"
#include "layers/attention/biases/distance_biases.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "nn/remat_policies.h"
#include "recipes/axlearn/family.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

constexpr int64_t kGalaSeqLen = 4 * kKi;

struct GalaSize {
  int64_t num_layers, model_dim, num_heads, tokens_per_batch, max_step;
  MeshRules rules;
};

GalaSize gala_85M() {
  return {.num_layers = 12,
          .model_dim = 768,
          .num_heads = 12,
          .tokens_per_batch = kMi,
          .max_step = 400'000,
          .rules = {mesh_rule("tpu-v5litepod-256", {.data = -1})}};
}
GalaSize gala_302M() {
  return {.num_layers = 24,
          .model_dim = 1024,
          .num_heads = 16,
          .tokens_per_batch = kMi,
          .max_step = 400'000,
          .rules = {mesh_rule("tpu-v5litepod-256", {.data = -1})}};
}
GalaSize gala_1B() {
  return {.num_layers = 24,
          .model_dim = 2048,
          .num_heads = 32,
          .tokens_per_batch = kMi,
          .max_step = 300'000,
          .rules = {mesh_rule("tpu-v5litepod-256", {.data = -1, .fsdp = 8})}};
}
GalaSize gala_7B() {
  return {.num_layers = 32,
          .model_dim = 4096,
          .num_heads = 32,
          .tokens_per_batch = 4 * kMi,
          .max_step = 250'000,
          .rules = {mesh_rule("tpu-v(4|5p)-(1024|2048)", {.data = -1, .fsdp = 16}),
                    mesh_rule("tpu-v5litepod-256", {.data = -1, .fsdp = 32}),
                    mesh_rule("gpu-(H100|A100)-(256|512|1024)", {.data = -1, .fsdp = 8})}};
}

Attention::Config with_rope(int64_t num_heads) {
  return normed_attention(num_heads, RoPE::Config{});
}
Attention::Config with_alibi(int64_t num_heads) {
  Attention::Config out = normed_attention(num_heads, FusedQKV::Config{});
  out.bias = ALiBi::Config{};
  return out;
}
Attention::Config with_sigmoid(int64_t num_heads) {
  Attention::Config out = with_alibi(num_heads);
  out.core = SigmoidAttention::Config{.bias_len = kGalaSeqLen};
  return out;
}

Child<Block> gala_layer(const Attention::Config& attention, NormPlace normed, int64_t multiple_of) {
  Child<Block> out = TransformerLayer::Config{
      .attention = normed(attention),
      .feed_forward = normed(
          FeedForward::Config{.hidden_dim = ScaledDim{.scale = 8.0 / 3, .multiple_of = multiple_of},
                              .gate = Linear::Config{.bias = false}})};
  out.options.remat = kept_projections();
  return out;
}

Trainer::Config gala(const GalaSize& s, const Attention::Config& attention, NormPlace normed) {
  MeshRules rules = s.rules;
  rules.push_back(cpu_rule());
  return language_model({
      .decoder = {.model_dim = s.model_dim,
                  .vocab_size = 32 * kKi,
                  .max_seq_len = kGalaSeqLen,
                  .layers = Repeat::Config{.num_layers = s.num_layers,
                                           .layer = gala_layer(attention, normed, 256)}},
      .learner = {.max_step = s.max_step,
                  .optimizer = with_mup_simple(AdamW::Config{}, {.model_dim = s.model_dim})},
      .tokens_per_batch = s.tokens_per_batch,
      .seq_len = kGalaSeqLen,
      .mesh = all_axes({.fsdp = -1}),
      .mesh_rules = rules,
  });
}

Trainer::Config gala_rope(const GalaSize& s) { return gala(s, with_rope(s.num_heads), &prenorm); }
Trainer::Config gala_85M_rope() { return gala_rope(gala_85M()); }
AXLE_REGISTER(gala_85M_rope, "gala-85M")
Trainer::Config gala_302M_rope() { return gala_rope(gala_302M()); }
AXLE_REGISTER(gala_302M_rope, "gala-302M")
Trainer::Config gala_1B_rope() { return gala_rope(gala_1B()); }
AXLE_REGISTER(gala_1B_rope, "gala-1B")
Trainer::Config gala_7B_rope() { return gala_rope(gala_7B()); }
AXLE_REGISTER(gala_7B_rope, "gala-7B")

Trainer::Config gala_alibi(const GalaSize& s) {
  return gala(s, with_alibi(s.num_heads), &hybridnorm);
}
Trainer::Config gala_1B_alibi() { return gala_alibi(gala_1B()); }
AXLE_REGISTER(gala_1B_alibi, "gala-1B-hybridnorm-alibi")
Trainer::Config gala_7B_alibi() { return gala_alibi(gala_7B()); }
AXLE_REGISTER(gala_7B_alibi, "gala-7B-hybridnorm-alibi")

Trainer::Config gala_sigmoid(const GalaSize& s) {
  return gala(s, with_sigmoid(s.num_heads), &hybridnorm);
}
Trainer::Config gala_sigmoid_85M() { return gala_sigmoid(gala_85M()); }
AXLE_REGISTER(gala_sigmoid_85M, "gala-sigmoid-85M-4k-hybridnorm-alibi")
Trainer::Config gala_sigmoid_1B() { return gala_sigmoid(gala_1B()); }
AXLE_REGISTER(gala_sigmoid_1B, "gala-sigmoid-1B-4k-hybridnorm-alibi")
Trainer::Config gala_sigmoid_7B() { return gala_sigmoid(gala_7B()); }
AXLE_REGISTER(gala_sigmoid_7B, "gala-sigmoid-7B-4k-hybridnorm-alibi")

// The published size for tests of everything around the model.
Trainer::Config gala_test() {
  return language_model({
      .decoder = {.model_dim = 8,
                  .vocab_size = 32,
                  .max_seq_len = 64,
                  .layers = Repeat::Config{.num_layers = 4,
                                           .layer = gala_layer(with_rope(4), &prenorm, 16)}},
      .learner = {.max_step = 3000,
                  .optimizer = with_mup_simple(AdamW::Config{}, {.model_dim = 8,
                                                                 .peak_lr = 6e-4,
                                                                 .warmup_steps = 2000,
                                                                 .weight_decay = 0.01})},
      .tokens_per_batch = 16 * 64,
      .seq_len = 64,
      .keep_every_steps = 3000,
      .mesh = all_axes({.data = -1}),
  });
}
AXLE_REGISTER(gala_test, "gala-test")

}  // namespace
}  // namespace axle
