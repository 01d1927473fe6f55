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

#include "config/fields.h"
#include "layers/attention/biases/logit_bias.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/key_values.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/mixer.h"
#include "layers/norms/norm.h"

namespace axle {

/// Mixes information between positions: x -> attention(x), without residual or norm.
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x.
/// Queries see keys of their own segment. Outside of decoding, masks and biases count the positions
/// from the beginning of each row, regardless of `positions`.
/// Decoding: a query sees the cached keys that the mask allows. A layer whose mask cannot decode
/// cannot decode either.
/// Throws ConfigError at construction if num_kv_heads does not divide num_heads, or if head_dim is
/// none and num_heads does not divide the model dim.
/// Remat names: "q_proj", "k_proj" and "v_proj" (after norm and position embedding), "qkv" for all
/// three, "attention_context" (the input of `output`) and "attention_output".
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
    /// What is added to the logits; none: nothing.
    std::optional<Child<LogitBias>> bias = {};
    /// Computes the result of each head from queries, keys and values.
    Child<AttentionCore> core = SoftmaxAttention::Config{};
    /// Keeps keys and values while decoding; unused if they come from a source of other tokens.
    Child<KVCache> kv_cache = DenseKVCache::Config{};
    AXLE_CONFIG(Attention, num_heads, num_kv_heads, head_dim, qkv, output, query_norm, key_norm,
                mask, bias, core, kv_cache)
  };
  Attention(const Config& cfg, const Dims& dims, const Scope& scope);
  // The cache has no keys after a query.
  bool can_decode() const override {
    return qkv_->has_source() || (mask_ && (*mask_)->can_decode());
  }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  HeadSizes sizes_;
  std::optional<Handle<AttentionMask>> mask_;
  Handle<QKV> qkv_;
  Handle<HeadOutput> output_;
  std::optional<Handle<Norm>> query_norm_, key_norm_;
  std::optional<Handle<LogitBias>> bias_;
  Handle<AttentionCore> core_;
  std::optional<Handle<KVCache>> kv_cache_;  // none: the keys come from a source
};

}  // namespace axle
