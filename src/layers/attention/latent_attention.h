// Multi-head latent attention: keys and values are computed from one small vector per token, which
// is all that the cache keeps.
//
// Letters in tensor names, for this file only:
//   B batch       T queries       S keys          D model dim      N heads
//   R rank of keys and values     Q rank of queries
//   H head dim without position   P head dim with position          V head dim of values
//
// Source: DeepSeek-AI 2024, arXiv 2405.04434, section 2.1 and appendix B.
#pragma once

#include "layers/attention/attention.h"
#include "layers/dense/linear.h"
#include "layers/norms/norm.h"
#include "layers/positions/rotation.h"

namespace axle {

/// Size of the rotated part of a head. Beyond the bound, the angles are too large a constant.
using RotatedDim = Ranged<int64_t, Bounds{.min = 1, .max = 1 << 19}>;

/// Mixes information between positions: x -> attention(x), without residual or norm.
///
/// latent = kv_norm(first R of kv_down(x)); keys = [latent key_up | rotated last P of kv_down(x)],
/// the second part shared by all heads; values = latent value_up; queries = query_up(query_norm(
/// query_down(x))), of which the last P elements of each head are rotated.
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x.
/// Parameters beside the children's: key_up[R, N, H], value_up[R, N, V].
/// Decoding uses the absorbed form: queries are mapped to the latent space, and the cache holds the
/// latent vector and the shared key, R + P numbers for each token. With products that are not
/// PlainProduct, it expands the cached vectors by these products instead, so that each number is
/// the one of training.
/// Throws ConfigError at construction if rope_dim is odd, or if only one of query_rank and
/// query_down is set.
class LatentAttention final : public Mixer {
 public:
  struct Config {
    /// Number of heads.
    Required<Positive<int64_t>> num_heads = REQUIRED;
    /// Q, the size of the vector that queries are computed from; none: they are computed from x.
    std::optional<Positive<int64_t>> query_rank = {};
    /// R, the size of the vector that keys and values are computed from.
    Positive<int64_t> kv_rank = 512;
    /// H, the elements of a head without position.
    Positive<int64_t> nope_dim = 128;
    /// P, the elements of a head that are rotated by the position.
    RotatedDim rope_dim = 64;
    /// V, the size of one head of values.
    Positive<int64_t> value_dim = 128;
    /// Base of the wavelengths of the rotation.
    Positive<double> theta = 1e4;
    /// Computes the angle by which each pair rotates from one position to the next.
    FrequencyFn frequencies = PlainFrequencies{};
    /// Which elements form a pair.
    PairLayout pairs = PairLayout::kNeighbours;
    /// Projects x to the query's rank; required with query_rank, refused without it.
    std::optional<Child<Projection>> query_down = {};
    /// Norm of the query's vector, none for no norm; refused without query_rank.
    std::optional<Child<Norm>> query_norm = {};
    /// Projects the query's vector, or x, to the heads.
    Child<HeadInput> query_up = HeadInputLinear::Config{};
    /// Projects x to the rank of keys and values, and the shared part of keys.
    Child<Projection> kv_down = Linear::Config{.bias = false};
    /// Norm of the vector of keys and values.
    Child<Norm> kv_norm = RMSNorm::Config{};
    /// Projects the heads back to the model dim.
    Child<HeadOutput> output = HeadOutputLinear::Config{};
    /// Multiplies the latent vector by key_up. Decoding absorbs key_up if both products are plain.
    Child<Product> key_product = PlainProduct::Config{};
    /// Multiplies the latent vector by value_up.
    Child<Product> value_product = PlainProduct::Config{};
    /// Decides which keys a query sees; none: every query sees every key.
    std::optional<Child<AttentionMask>> mask = CausalMask::Config{};
    /// Computes the result of each head.
    Child<AttentionCore> core = SoftmaxAttention::Config{};
    /// Keeps the latent vectors (as values) and the shared keys while decoding.
    Child<KVCache> kv_cache = DenseKVCache::Config{};
    AXLE_CONFIG(LatentAttention, num_heads, query_rank, kv_rank, nope_dim, rope_dim, value_dim,
                theta, frequencies, pairs, query_down, query_norm, query_up, kv_down, kv_norm,
                output, key_product, value_product, mask, core, kv_cache)
  };
  LatentAttention(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return mask_ && (*mask_)->can_decode(); }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  Tensor queries(const Tensor& x_BTD);
  Tensor absorbed(const Tensor& q_BTNH, const KeyValues& cached, const Visibility& visibility);
  Tensor expanded(const Tensor& q_BTNH, const KeyValues& fresh, const Visibility& visibility);

  int64_t num_heads_, kv_rank_, nope_dim_, rope_dim_;
  PairLayout pairs_;
  bool absorbs_;
  Frequencies frequencies_;
  std::optional<Handle<AttentionMask>> mask_;
  Param key_up_, value_up_;
  std::optional<Handle<Projection>> query_down_;
  std::optional<Handle<Norm>> query_norm_;
  Handle<HeadInput> query_up_;
  Handle<Projection> kv_down_;
  Handle<Norm> kv_norm_;
  Handle<HeadOutput> output_;
  Handle<AttentionCore> core_;
  Handle<KVCache> kv_cache_;
  Handle<Product> key_product_, value_product_;
};

}  // namespace axle
