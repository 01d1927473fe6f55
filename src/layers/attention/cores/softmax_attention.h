// Softmax attention.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.2.1. Logit cap: Gemma Team 2024, arXiv
//   2408.00118, section 2. Sinks: Xiao et al. 2023, arXiv 2309.17453, section 3.3.
#pragma once

#include "layers/attention/cores/scored_core.h"

namespace axle {

/// y = softmax(logits) v. Logits and softmax are f32 whatever the dtype of the inputs.
///
/// Parameters: sink[num_heads] if `sink` is set, initially zeros: the logit of a key without a
/// value that every query sees.
class SoftmaxAttention final : public ScoredCore {
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
    /// True: each head has a learned sink.
    bool sink = false;
    /// Which calls are computed by blocks.
    AttentionBlocks blocks = {};
    AXLE_CONFIG(SoftmaxAttention, scale, per_dim_scale, logit_cap, dropout, sink, blocks)
  };
  SoftmaxAttention(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor weights(const Tensor& logits, const HeadGroups& heads, DType result) override;
  Weights kind_of_weights() const override { return Weights::kSoftmax; }
  std::optional<Tensor> sink() override;

 private:
  std::optional<Param> sink_;
};

}  // namespace axle
