// Routing that balances loads by a bias instead of a loss, within a few groups of experts.
//
// Source: Wang et al. 2024, arXiv 2408.15664; DeepSeek-AI 2024, "DeepSeek-V3", arXiv 2412.19437,
// section 2.1.2.
#pragma once

#include "layers/experts/linear_router.h"
#include "ops/elementwise/activations.h"

namespace axle {

/// Each token goes to the top_k experts with the largest score + bias. The bias of an expert is
/// state: each training step lowers it by update_rate if the expert got more tokens than the mean,
/// and raises it if it got fewer. All microbatches of a step are routed by the bias before the step
/// and count together. Weights come from the scores without bias: divided by the sum of the chosen
/// ones, times routed_scale.
///
/// With num_expert_groups > 1, experts of consecutive numbers form groups. A token chooses only
/// among the top_groups groups with the largest sum of their two largest biased scores.
///
/// Shapes: x_BTD f32|bf16 -> experts i32[B, T, K], weights f32[B, T, K] that sum to routed_scale.
/// State: bias f32[E]. Evaluation and decoding use it and leave it as it is. Of the step in
/// progress: step_bias f32[E], the bias before it; step_load f32[E], the tokens of each expert so
/// far; step_start f32[], 1 before the first microbatch.
/// Throws ConfigError at construction if the groups do not divide the experts, or are too few or
/// too small for the choices.
class BalancedRouter final : public LinearRouter {
 public:
  struct Config {
    /// Number of experts of each token.
    Positive<int64_t> top_k = 8;
    /// Maps logits to scores.
    ScoreFn score = {"sigmoid", &sigmoid};
    /// Step of the bias in one update.
    NonNegative<double> update_rate = 0.001;
    /// Sum of the weights of a token.
    Positive<double> routed_scale = 2.5;
    /// Number of groups of experts; 1: a token may choose any experts.
    Positive<int64_t> num_expert_groups = 1;
    /// Number of groups that a token may choose from.
    Positive<int64_t> top_groups = 1;
    /// Bound of the logits: they become cap * tanh(logits / cap); none: no bound.
    std::optional<Positive<double>> logit_cap = {};
    /// Weights of the losses.
    RouterLosses losses = {.load_balance = 0, .z = 0, .sequence_balance = 1e-4};
    AXLE_CONFIG(BalancedRouter, top_k, score, update_rate, routed_scale, num_expert_groups,
                top_groups, logit_cap, losses)
  };
  BalancedRouter(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Routing forward(const Tensor& x_BTD) override;

 private:
  void check_groups() const;
  /// Returns biased_BTE with -infinity for experts outside of the chosen groups.
  Tensor within_top_groups(const Tensor& biased_BTE) const;
  /// Returns the bias that routes this call.
  Tensor routing_bias();
  /// Counts the choices of this call, and moves the bias from that of the step's start.
  void update_bias(const Tensor& step_bias_E, const Tensor& experts_BTK);

  Config cfg_;
};

}  // namespace axle
