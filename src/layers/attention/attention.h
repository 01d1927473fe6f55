// Grouped-query self-attention. With num_kv_heads == num_heads it is plain multi-head attention,
// with num_kv_heads == 1 multi-query attention.
//
// Letters in tensor names, for this file only:
//   B batch         T queries            S keys
//   D model dim     N query heads        K key/value heads
//   G = N / K       H head dim
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.2;
//   Ainslie et al. 2023, arXiv 2305.13245, section 2.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/attention/attention_mask.h"
#include "layers/attention/fused_qkv.h"
#include "layers/attention/head_projection.h"
#include "layers/attention/kv_cache.h"
#include "layers/blocks/mixer.h"
#include "layers/dropout.h"
#include "layers/norms/norm.h"

namespace axle {

/// Mixes information between positions: x -> attention(x), without residual or norm.
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x. Scores and softmax are f32 whatever the dtype of x.
/// Decoding: a query sees the cached keys up to its own position; segment ids are ignored. A layer
/// without a causal mask cannot decode.
/// Throws ConfigError at construction if num_kv_heads does not divide num_heads, or if head_dim is
/// none and num_heads does not divide the model dim.
/// Remat names: "q_proj", "k_proj" and "v_proj" (after norm, position embedding and scale), "qkv"
/// for all three, "attention_context" (the input of `output`) and "attention_output".
/// Summaries: "max_logit", the largest logit before softmax (scalar, f32).
class Attention final : public Mixer {
 public:
  struct Config {
    /// Number of query heads.
    Required<Positive<int64_t>> num_heads = REQUIRED;
    /// Number of key/value heads; none: num_heads.
    std::optional<Positive<int64_t>> num_kv_heads = {};
    /// Size of one head; none: model dim / num_heads.
    std::optional<Positive<int64_t>> head_dim = {};
    /// Projects x to the heads of queries, keys and values.
    Child<QKV> qkv = FusedQKV::Config{};
    /// Projects the heads back to the model dim.
    Child<HeadOutput> output = HeadOutputLinear::Config{};
    /// Normalises each query over the head dim; none: no norm.
    std::optional<Child<Norm>> query_norm = {};
    /// Normalises each key over the head dim; none: no norm.
    std::optional<Child<Norm>> key_norm = {};
    /// Decides which keys a query sees; none: every query sees every key.
    std::optional<Child<AttentionMask>> mask = CausalMask::Config{};
    /// Logits become cap * tanh(logits / cap); none: no cap.
    std::optional<Positive<double>> logit_cap = {};
    /// Dropout on the attention probabilities; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Keeps keys and values while decoding.
    Child<KVCache> kv_cache = DenseKVCache::Config{};
    AXLE_CONFIG(Attention, num_heads, num_kv_heads, head_dim, qkv, output, query_norm, key_norm,
                mask, logit_cap, dropout, kv_cache)
  };
  Attention(const Config& cfg, const Dims& dims, const Scope& scope);
  // The cache has no keys after a query, so decoding needs a causal mask.
  bool can_decode() const override { return mask_ && mask_->is_causal(); }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  struct Sizes {
    int64_t num_heads, num_kv_heads, head_dim;
  };
  Sizes sizes(const Config& cfg, const Dims& dims) const;
  static Tensor projected(const Tensor& x_BTNH, std::string_view own_name);
  Tensor visible(const Tensor& x_BTD, int64_t num_keys, const MixerContext& context) const;
  Tensor attend(const Tensor& q_BTNH, const Tensor& k_BSKH, const Tensor& v_BSKH,
                const Tensor& visible_BTS);

  Sizes sizes_;
  std::unique_ptr<AttentionMask> mask_;
  std::optional<double> logit_cap_;
  Handle<QKV> qkv_;
  Handle<HeadOutput> output_;
  std::optional<Handle<Norm>> query_norm_, key_norm_;
  std::optional<Handle<Dropout>> dropout_;
  Handle<KVCache> kv_cache_;
};

}  // namespace axle
