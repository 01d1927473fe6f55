// Gemma 3, the text model: five layers with a sliding window for each one that sees everything,
// norms on both sides of each mixer, and norms of queries and keys.
//
// Source: Gemma Team 2025, arXiv 2503.19786, section 2, tables 1 and 2, and the configs of the
//   model cards. Published: sizes, vocabulary, windows, bases of the positions, numbers of tokens
//   (2, 4, 12 and 14 trillion) and meshes. Not published: batch size and learning rates; those here
//   are of a Llama of the size. The published models learn from a teacher's logits, these from text
//   alone.
#include "config/register.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "modifiers/mesh_modifiers.h"
#include "nn/remat_policies.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

const Child<Norm> kGemmaNorm = RMSNorm::Config{.eps = 1e-6f, .zero_centred = ZeroCentred::kScale};
const Child<TokenEmbedding> kEmbedding = Embedding::Config{.scale = RootOfDim{}};

struct GemmaSize {
  int64_t num_layers, model_dim, num_heads, num_kv_heads, head_dim, hidden_dim;
  /// Positions that a local layer sees, its own included.
  int64_t window;
  /// Queries are divided by the root of this number.
  double query_scale;
};

Child<Block> residual(Child<Mixer> body) {
  return HybridNorm::Config{.norm = kGemmaNorm, .body = std::move(body), .post_norm = kGemmaNorm};
}

Attention::Config attention(const GemmaSize& s, double theta) {
  const NormedQKV::Config heads{
      .query_norm = kGemmaNorm, .key_norm = kGemmaNorm, .inner = FusedGroupedQKV::Config{}};
  return {.num_heads = s.num_heads,
          .num_kv_heads = s.num_kv_heads,
          .head_dim = s.head_dim,
          .qkv = RoPE::Config{.theta = theta, .pairs = PairLayout::kHalves, .inner = heads},
          .core = SoftmaxAttention::Config{.scale = 1 / std::sqrt(s.query_scale)}};
}

Child<Block> gemma_layer(const GemmaSize& s, Attention::Config attention) {
  Child<Block> out = TransformerLayer::Config{
      .attention = residual(std::move(attention)),
      .feed_forward = residual(FeedForward::Config{.hidden_dim = FixedDim{.dim = s.hidden_dim},
                                                   .activation = {"gelu", &gelu},
                                                   .gate = Linear::Config{.bias = false}})};
  SaveNames kept = kept_projections();
  kept.optional = {};  // results of 32k-token rows are too large for the 8 GPUs that 4B fits
  out.options.remat = kept;
  return out;
}

Child<Block> gemma_layers(const GemmaSize& s) {
  Attention::Config local = attention(s, 1e4);
  local.mask = SlidingWindowMask::Config{.window = s.window - 1};
  local.kv_cache = SlidingKVCache::Config{.window = s.window - 1};
  Pattern::Config out{.num_layers = s.num_layers,
                      .pattern = std::vector<Child<Block>>(5, gemma_layer(s, local))};
  out.pattern.push_back(gemma_layer(s, attention(s, 1e6)));
  return out;
}

// Table 2: the machine, and how many shards data and sequence have in each of its replicas.
struct Machine {
  std::string name;
  int64_t data_shards, sequence_shards;
};

Trainer::Config gemma3(const GemmaSize& s, int64_t billions_of_tokens, const Machine& machine) {
  constexpr int64_t kSeqLen = 32 * kKi, kRows = 768;
  const Mesh shards{.axes = {{.name = "data", .size = -1},
                             {.name = "fsdp", .size = machine.data_shards},
                             {.name = "seq", .size = machine.sequence_shards}}};
  return language_model({
      .decoder = {.model_dim = s.model_dim,
                  .vocab_size = 256 * kKi,
                  .max_seq_len = kSeqLen,
                  .emb = kEmbedding,
                  .layers = gemma_layers(s)},
      .output_norm = kGemmaNorm,
      .learner = {.max_step = billions_of_tokens * 1'000'000'000 / (kRows * kSeqLen),
                  .undecayed = kScalesAndBiases},
      .tokens_per_batch = kRows * kSeqLen,
      .seq_len = kSeqLen,
      .mesh = one_axis("fsdp"),
      .mesh_rules = {{.machine = machine.name, .modifiers = {SetMesh::Config{.mesh = shards}}},
                     cpu_rule()},
  });
}

Trainer::Config gemma3_1B() {
  return gemma3({.num_layers = 26,
                 .model_dim = 1152,
                 .num_heads = 4,
                 .num_kv_heads = 1,
                 .head_dim = 256,
                 .hidden_dim = 6912,
                 .window = 512,
                 .query_scale = 256},
                2'000, {"tpu-v5litepod-256-2", 16, 16});
}
AXLE_REGISTER(gemma3_1B, "gemma3-1B")

Trainer::Config gemma3_4B() {
  return gemma3({.num_layers = 34,
                 .model_dim = 2560,
                 .num_heads = 8,
                 .num_kv_heads = 4,
                 .head_dim = 256,
                 .hidden_dim = 10240,
                 .window = 1024,
                 .query_scale = 256},
                4'000, {"tpu-v5litepod-256-8", 16, 16});
}
AXLE_REGISTER(gemma3_4B, "gemma3-4B")

Trainer::Config gemma3_12B() {
  return gemma3({.num_layers = 48,
                 .model_dim = 3840,
                 .num_heads = 16,
                 .num_kv_heads = 8,
                 .head_dim = 256,
                 .hidden_dim = 15360,
                 .window = 1024,
                 .query_scale = 256},
                12'000, {"tpu-v4-12288", 16, 16});
}
AXLE_REGISTER(gemma3_12B, "gemma3-12B")

Trainer::Config gemma3_27B() {
  return gemma3({.num_layers = 62,
                 .model_dim = 5376,
                 .num_heads = 32,
                 .num_kv_heads = 16,
                 .head_dim = 128,
                 .hidden_dim = 21504,
                 .window = 1024,
                 .query_scale = 5376.0 / 32},
                14'000, {"tpu-v5p-12288", 24, 8});
}
AXLE_REGISTER(gemma3_27B, "gemma3-27B")

// The same at a size that learns in a minute on two cores: one group of layers, and one more.
Trainer::Config gemma3_test() {
  const GemmaSize s{.num_layers = 7,
                    .model_dim = 64,
                    .num_heads = 4,
                    .num_kv_heads = 2,
                    .head_dim = 16,
                    .hidden_dim = 192,
                    .window = 32,
                    .query_scale = 16};
  return byte_model({.model_dim = s.model_dim,
                     .layers = gemma_layers(s),
                     .undecayed = kScalesAndBiases,
                     .emb = kEmbedding,
                     .output_norm = kGemmaNorm});
}
AXLE_REGISTER(gemma3_test, "gemma3-test")

}  // namespace
}  // namespace axle
