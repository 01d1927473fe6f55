// Sigmoid attention.
//
// Source: Ramapuram et al. 2024, arXiv 2409.04431, section 2.
#pragma once

#include "layers/attention/cores/scored_core.h"

namespace axle {

/// y = sigmoid(logits - log(bias_len)) v: the weight of a key does not depend on other keys. A
/// query that sees no key gives zeros.
class SigmoidAttention final : public ScoredCore {
 public:
  struct Config {
    /// Factor of the queries; none: 1 / sqrt(head dim).
    std::optional<Positive<double>> scale = {};
    /// Learned factor of each element of a head; none: no such factor.
    std::optional<Child<PerDimScale>> per_dim_scale = {};
    /// Logits become cap * tanh(logits / cap); none: no cap.
    std::optional<Positive<double>> logit_cap = {};
    /// Dropout on the weights; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// The logarithm of this number of positions is taken from the logits, so that the weights of a
    /// row sum to about 1 at the start; none: nothing is taken.
    std::optional<Positive<int64_t>> bias_len = {};
    /// Which calls are computed by blocks.
    AttentionBlocks blocks = {};
    AXLE_CONFIG(SigmoidAttention, scale, per_dim_scale, logit_cap, dropout, bias_len, blocks)
  };
  SigmoidAttention(const Config& cfg, const Dims& dims, const Scope& scope)
      : ScoredCore(cfg, dims, scope), bias_len_(cfg.bias_len) {}

 protected:
  Tensor weights(const Tensor& logits, const HeadGroups& heads, DType result) override;
  Weights kind_of_weights() const override { return Weights::kEachKey; }

 private:
  std::optional<int64_t> bias_len_;
};

}  // namespace axle
