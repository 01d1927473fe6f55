// Attention with relative positions, as in Transformer-XL.
//
// Letters in tensor names, for this file only:
//   B batch         T queries            S keys      P position dim
//   N query heads   H head dim
//
// Source: Dai et al. 2019, arXiv 1901.02860, section 3.3.
#pragma once

#include "layers/attention/cores/scored_core.h"
#include "layers/positions/frequencies.h"

namespace axle {

/// y = softmax(scale * ((q + content_bias) k + (q + position_bias) r)) v, where r is the projection
/// of the sinusoidal embedding (sines, then cosines) of query position - key position.
///
/// Softmax is f32 for any dtype of the inputs. Throws ConfigError at construction if
/// position_dim is odd.
/// Parameters: position_weight[P, N, H], content_bias[N, H] and position_bias[N, H], both zeros at
/// the start.
class TransformerXLAttention final : public ScoredCore {
 public:
  struct Config {
    /// Factor of the queries; none: 1 / sqrt(head dim).
    std::optional<Positive<double>> scale = {};
    /// Learned factor of each element of a head; none: no such factor.
    std::optional<Child<PerDimScale>> per_dim_scale = {};
    /// Logits become cap * tanh(logits / cap); none: no cap.
    std::optional<Positive<double>> logit_cap = {};
    /// Dropout on the attention probabilities; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Size of the sinusoidal embedding of a distance; none: num_heads * head_dim.
    std::optional<Positive<int64_t>> position_dim = {};
    /// Base of the wavelengths of the embedding.
    Positive<double> theta = 1e4;
    /// Which calls are computed by blocks.
    AttentionBlocks blocks = {};
    AXLE_CONFIG(TransformerXLAttention, scale, per_dim_scale, logit_cap, dropout, position_dim,
                theta, blocks)
  };
  TransformerXLAttention(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor weights(const Tensor& logits, const HeadGroups& heads, DType result) override;
  Weights kind_of_weights() const override { return Weights::kSoftmax; }
  /// Each pair of blocks embeds its distances again: under a causal mask, whose blocks are half of
  /// all, the products are 2.2 times those of a call at once.
  double block_cost() const override { return 4; }
  Tensor content_queries(const Tensor& q_BTNH) override;
  Tensor position_scores(const Tensor& q_BTNH, const Visibility& visibility) override;

 private:
  Frequencies frequencies(const Config& cfg, const Dims& dims) const;
  Tensor scores_in_order(const Tensor& q_BTNH, const TokenPositions& positions, bool causal);
  Tensor scores_at(const Tensor& q_BTNH, const TokenPositions& positions);

  Frequencies frequencies_;
  Param position_weight_, content_bias_, position_bias_;
};

}  // namespace axle
