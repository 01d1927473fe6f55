// Top-k routing with a choice of scores, weights and noise.
//
// Source: Shazeer et al. 2017, arXiv 1701.06538, section 2.1; Jiang et al. 2024, "Mixtral",
// arXiv 2401.04088, section 2.1.
#pragma once

#include <optional>

#include "base/text/enum_text.h"
#include "layers/experts/linear_router.h"
#include "ops/random/key.h"

namespace axle {

/// The weights of chosen experts: their scores divided by the sum of the chosen ones, or the scores
/// themselves.
enum class ExpertWeights { kSumToOne, kScores };
constexpr auto texts_of(ExpertWeights) {
  return std::to_array<EnumText<ExpertWeights>>(
      {{ExpertWeights::kSumToOne, "sum_to_one"}, {ExpertWeights::kScores, "scores"}});
}

/// Noise of the logits: a function of a key and a shape; "gumbel" draws from the standard Gumbel
/// distribution.
using RouterNoise = Fn<Tensor(const random::Key&, const Shape&)>;
/// Returns standard Gumbel noise, f32.
Tensor gumbel_noise(const random::Key& key, const Shape& shape);

/// Each token goes to the top_k experts with the largest scores.
///
/// Shapes: x_BTD f32|bf16 -> experts i32[B, T, K], weights f32[B, T, K], largest first.
/// With softmax scores and sum_to_one, the weights are the softmax over the chosen logits.
/// Noise is added to the logits in training, which needs a key.
/// Throws ConfigError at construction if top_k > num_experts.
class TopKRouter final : public LinearRouter {
 public:
  struct Config {
    /// Number of experts of each token.
    Positive<int64_t> top_k = 2;
    /// Maps logits to scores.
    ScoreFn score = {"softmax", &softmax_scores};
    /// What the weights of the chosen experts are.
    ExpertWeights weights = ExpertWeights::kSumToOne;
    /// Noise of the logits in training; none: no noise.
    std::optional<RouterNoise> noise = {};
    /// Bound of the logits: they become cap * tanh(logits / cap); none: no bound.
    std::optional<Positive<double>> logit_cap = {};
    /// Weights of the losses.
    RouterLosses losses = {};
    AXLE_CONFIG(TopKRouter, top_k, score, weights, noise, logit_cap, losses)
  };
  TopKRouter(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Routing forward(const Tensor& x_BTD) override;

 private:
  ScoreFn score_;
  ExpertWeights weights_;
  std::optional<RouterNoise> noise_;
};

}  // namespace axle
