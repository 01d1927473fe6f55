// Qwen3: dense models and two with experts, with norms of queries and keys. Qwen does not publish
// learning rates and batches. They are AXLearn's for qwen3-30B-A3B; for the other sizes they are of
// a Llama of the size.
//
// Source: Yang et al. 2025, arXiv 2505.09388, section 2 and tables 1 and 2, and the configs of the
//   model cards; apple/axlearn, experiments/text/gpt/qwen.py (qwen3-30B-A3B-bs8m-seq8k).
#include "config/register.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/mesh_axes.h"
#include "layers/models/causal_lm.h"
#include "nn/remat_policies.h"
#include "recipes/axlearn/family.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

constexpr int64_t kVocab = 151936, kHeadDim = 128, kSeqLen = 4096;

struct QwenSize {
  int64_t num_layers, model_dim, num_heads, num_kv_heads;
  Child<Mixer> feed_forward;
  bool untied_head = true;
  double peak_lr = 3e-4;
  int64_t head_dim = kHeadDim;
};

Child<Mixer> dense(int64_t hidden_dim) {
  return FeedForward::Config{.hidden_dim = FixedDim{.dim = hidden_dim},
                             .gate = Linear::Config{.bias = false}};
}

Child<Mixer> qwen_experts(int64_t num_experts, int64_t top_k, int64_t hidden_dim) {
  return MoE::Config{
      .num_experts = num_experts,
      .router = TopKRouter::Config{.top_k = top_k, .losses = {.load_balance = 0.001, .z = 0}},
      .hidden_dim = FixedDim{.dim = hidden_dim},
      .gate = Linear::Config{.bias = false}};
}

const Child<Norm> kQwenNorm = RMSNorm::Config{.eps = 1e-6f};

Child<Block> qwen_layers(const QwenSize& s) {
  const NormedQKV::Config heads{
      .query_norm = kQwenNorm, .key_norm = kQwenNorm, .inner = FusedGroupedQKV::Config{}};
  Child<Block> layer = TransformerLayer::Config{
      .attention =
          PreNorm::Config{
              .norm = kQwenNorm,
              .body = Attention::Config{.num_heads = s.num_heads,
                                        .num_kv_heads = s.num_kv_heads,
                                        .head_dim = s.head_dim,
                                        .qkv = RoPE::Config{.theta = 1e6,
                                                            .pairs = PairLayout::kHalves,
                                                            .inner = heads}}},
      .feed_forward = PreNorm::Config{.norm = kQwenNorm, .body = s.feed_forward}};
  layer.options.remat = kept_projections();
  return Repeat::Config{.num_layers = s.num_layers, .layer = std::move(layer)};
}

LanguageModel qwen3_run(const QwenSize& s, Mesh sharding) {
  LanguageModel m{
      .decoder = {.model_dim = s.model_dim,
                  .vocab_size = kVocab,
                  .max_seq_len = kSeqLen,
                  .layers = qwen_layers(s)},
      .output_norm = kQwenNorm,
      .learner = {.peak_lr = s.peak_lr,
                  .max_step = 1 << 20,
                  .weight_decay = 0.1,
                  .undecayed = kScalesAndBiases},
      .tokens_per_batch = 8 * kMi,
      .seq_len = kSeqLen,
      .mesh = std::move(sharding),
      .mesh_rules = {cpu_rule()},
  };
  if (s.untied_head) m.decoder.lm_head = LmHead::Config{};
  return m;
}
Trainer::Config qwen3_dense(const QwenSize& s) {
  return language_model(qwen3_run(s, one_axis("fsdp")));
}
// The vocabulary is sharded as AXLearn's recipe of the 30B model shards it.
Trainer::Config qwen3_moe(LanguageModel m) {
  m.decoder.emb.options.partition = m.decoder.lm_head->options.partition =
      PartitionSpec{{kShardAxes, kModelDimAxes}};
  return language_model(m);
}

Trainer::Config qwen3_0_6B() {
  return qwen3_dense({.num_layers = 28,
                      .model_dim = 1024,
                      .num_heads = 16,
                      .num_kv_heads = 8,
                      .feed_forward = dense(3072),
                      .untied_head = false});
}
AXLE_REGISTER(qwen3_0_6B, "qwen3-0.6B")

Trainer::Config qwen3_1_7B() {
  return qwen3_dense({.num_layers = 28,
                      .model_dim = 2048,
                      .num_heads = 16,
                      .num_kv_heads = 8,
                      .feed_forward = dense(6144),
                      .untied_head = false});
}
AXLE_REGISTER(qwen3_1_7B, "qwen3-1.7B")

Trainer::Config qwen3_4B() {
  return qwen3_dense({.num_layers = 36,
                      .model_dim = 2560,
                      .num_heads = 32,
                      .num_kv_heads = 8,
                      .feed_forward = dense(9728),
                      .untied_head = false});
}
AXLE_REGISTER(qwen3_4B, "qwen3-4B")

Trainer::Config qwen3_8B() {
  return qwen3_dense({.num_layers = 36,
                      .model_dim = 4096,
                      .num_heads = 32,
                      .num_kv_heads = 8,
                      .feed_forward = dense(12288)});
}
AXLE_REGISTER(qwen3_8B, "qwen3-8B")

Trainer::Config qwen3_14B() {
  return qwen3_dense({.num_layers = 40,
                      .model_dim = 5120,
                      .num_heads = 40,
                      .num_kv_heads = 8,
                      .feed_forward = dense(17408)});
}
AXLE_REGISTER(qwen3_14B, "qwen3-14B")

Trainer::Config qwen3_32B() {
  return qwen3_dense({.num_layers = 64,
                      .model_dim = 5120,
                      .num_heads = 64,
                      .num_kv_heads = 8,
                      .feed_forward = dense(25600),
                      .peak_lr = 1.5e-4});
}
AXLE_REGISTER(qwen3_32B, "qwen3-32B")

Trainer::Config qwen3_30B_A3B() {
  constexpr int64_t kModelDim = 2048, kPublishedSeqLen = 8 * kKi;
  LanguageModel m = qwen3_run({.num_layers = 48,
                               .model_dim = kModelDim,
                               .num_heads = 32,
                               .num_kv_heads = 4,
                               .feed_forward = qwen_experts(128, 8, 768)},
                              all_axes({.data = -1, .fsdp = 8}));
  m.decoder.max_seq_len = m.seq_len = kPublishedSeqLen;
  m.learner.max_step = 250'000;
  m.learner.undecayed = {};  // AXLearn's recipe decays everything
  m.keep_every_steps = 5000;
  m.eval_every_steps = 25'000;
  m.z_loss_scale = 1e-6;
  m.learner.optimizer =
      with_mup_simple(AdamW::Config{}, {.model_dim = kModelDim, .final_fraction = 0.005});
  return qwen3_moe(std::move(m));
}
AXLE_REGISTER(qwen3_30B_A3B, "qwen3-30B-A3B")

Trainer::Config qwen3_235B_A22B() {
  return qwen3_moe(
      qwen3_run({.num_layers = 94,
                 .model_dim = 4096,
                 .num_heads = 64,
                 .num_kv_heads = 4,
                 .feed_forward = qwen_experts(128, 8, 1536),
                 .peak_lr = 1.5e-4},
                {.axes = {{.name = "expert", .size = 8}, {.name = "fsdp", .size = -1}}}));
}
AXLE_REGISTER(qwen3_235B_A22B, "qwen3-235B-A22B")

// The models with experts at a size that learns in a minute on two cores.
Trainer::Config qwen3_test() {
  const QwenSize s{.num_layers = 2,
                   .model_dim = 64,
                   .num_heads = 4,
                   .num_kv_heads = 2,
                   .feed_forward = qwen_experts(8, 2, 48),
                   .head_dim = 32};
  return byte_model({.model_dim = s.model_dim,
                     .layers = qwen_layers(s),
                     .undecayed = kScalesAndBiases,
                     .output_norm = kQwenNorm});
}
AXLE_REGISTER(qwen3_test, "qwen3-test")

}  // namespace
}  // namespace axle
