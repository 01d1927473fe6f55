// Qwen3: dense models and one with experts, with norms of queries and keys. The learning rates are
// not published; those here are of a Llama of the size.
//
// Source: Yang et al. 2025, arXiv 2505.09388, section 2 and tables 1 and 2.
#include "config/register.h"
#include "layers/attention/qkv/fused_grouped_qkv.h"
#include "layers/attention/qkv/normed_qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/repeat.h"
#include "layers/experts/moe.h"
#include "layers/experts/top_k_router.h"
#include "layers/models/lm_head.h"
#include "modifiers/set_mesh.h"
#include "modifiers/set_remat.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

constexpr int64_t kVocab = 151936, kHeadDim = 128, kSeqLen = 4096;

struct Size {
  int64_t num_layers, model_dim, num_heads, num_kv_heads;
  Child<Mixer> feed_forward;
  bool untied_head = true;
  double peak_lr = 3e-4;
};

Child<Mixer> dense(int64_t hidden_dim) {
  return FeedForward::Config{.hidden_dim = FixedDim{hidden_dim},
                             .gate = Linear::Config{.bias = false}};
}

Trainer::Config qwen3(const Size& s, Mesh sharding) {
  const Child<Norm> norm = RMSNorm::Config{.eps = 1e-6f};
  const NormedQKV::Config heads{
      .query_norm = norm, .key_norm = norm, .inner = FusedGroupedQKV::Config{}};
  Child<Block> layer = TransformerLayer::Config{
      .attention =
          PreNorm::Config{
              .norm = norm,
              .body = Attention::Config{.num_heads = s.num_heads,
                                        .num_kv_heads = s.num_kv_heads,
                                        .head_dim = kHeadDim,
                                        .qkv = RoPE::Config{.theta = 1e6,
                                                            .pairs = PairLayout::kHalves,
                                                            .inner = heads}}},
      .feed_forward = PreNorm::Config{.norm = norm, .body = s.feed_forward}};
  layer.options.remat = save("q_proj", "k_proj", "v_proj", "attention_output");
  LanguageModel m{
      .decoder = {.model_dim = s.model_dim,
                  .vocab_size = kVocab,
                  .max_seq_len = kSeqLen,
                  .layers = Repeat::Config{.num_layers = s.num_layers, .layer = layer}},
      .learner = {.peak_lr = s.peak_lr, .max_step = 1 << 20, .weight_decay = 0.1},
      .tokens_per_batch = 8 * kMi,
      .seq_len = kSeqLen,
      .mesh = std::move(sharding),
      .mesh_rules = {{.machine = "cpu-.*", .modifiers = {mesh({{.name = "data", .size = -1}})}}},
  };
  if (s.untied_head) m.decoder.lm_head = LmHead::Config{};
  Trainer::Config cfg = language_model(m);
  cfg.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->output_norm = norm;
  return cfg;
}

const Mesh kFsdp{.axes = {{.name = "fsdp", .size = -1}}};

Trainer::Config qwen3_0_6B() {
  return qwen3({.num_layers = 28,
                .model_dim = 1024,
                .num_heads = 16,
                .num_kv_heads = 8,
                .feed_forward = dense(3072),
                .untied_head = false},
               kFsdp);
}
AXLE_REGISTER(qwen3_0_6B, "qwen3-0.6B")

Trainer::Config qwen3_8B() {
  return qwen3({.num_layers = 36,
                .model_dim = 4096,
                .num_heads = 32,
                .num_kv_heads = 8,
                .feed_forward = dense(12288)},
               kFsdp);
}
AXLE_REGISTER(qwen3_8B, "qwen3-8B")

Trainer::Config qwen3_30B_A3B() {
  return qwen3({.num_layers = 48,
                .model_dim = 2048,
                .num_heads = 32,
                .num_kv_heads = 4,
                .feed_forward = MoE::Config{.num_experts = 128,
                                            .router = TopKRouter::Config{.top_k = 8},
                                            .hidden_dim = FixedDim{768},
                                            .gate = Linear::Config{.bias = false}}},
               {.axes = {{.name = "expert", .size = 8}, {.name = "fsdp", .size = -1}}});
}
AXLE_REGISTER(qwen3_30B_A3B, "qwen3-30B-A3B")

}  // namespace
}  // namespace axle
