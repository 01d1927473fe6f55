// Routers with a linear layer: top-k, top-2 of GShard, switch, and balanced.
#pragma once

#include <optional>

#include "base/text/text.h"
#include "layers/experts/router.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"

namespace axle {

/// A function from logits f32[.., E] to scores of the experts, which are not negative: "softmax" or
/// "sigmoid".
using ScoreFn = Fn<Tensor(const Tensor&)>;

/// Returns softmax(logits) along the last dim; its name in configs is "softmax".
Tensor softmax_scores(const Tensor& logits);

/// A router whose logits are cap(x * weight), computed in f32 for any dtype of x.
///
/// Parameters: weight[D, E], replicated over the mesh.
/// Summaries: "load_balance_loss" and "z_loss" without their weights; "entropy", the mean over
/// tokens of the entropy of their scores (nats); "max_load" and "min_load", the largest and the
/// smallest share of the choices that fall on one expert, times E: 1 means balance.
class LinearRouter : public Router {
 protected:
  /// The fields that every linear router has.
  struct Common {
    int64_t num_choices;
    std::optional<Positive<double>> logit_cap;
    RouterLosses losses;
  };
  /// Throws ConfigError unless a token can choose `num_choices` experts.
  LinearRouter(const Common& common, const Dims& dims, const Scope& scope);
  int64_t num_choices() const final { return common_.num_choices; }

  Tensor logits(const Tensor& x_BTD);
  /// Returns experts and weights with the losses, and adds the summaries. The load-balance loss
  /// counts the first `num_balanced` choices of each token.
  Routing routing(const Tensor& logits_BTE, const Tensor& scores_BTE, const Tensor& experts_BTK,
                  const Tensor& weights_BTK, int64_t num_balanced);
  int64_t num_experts() const { return dims_.num_experts; }

 private:
  void add_load_summaries(const Tensor& scores_BTE, const Tensor& experts_BTK);

  Common common_;
  Dims dims_;
  Param weight_;
};

/// Returns how many choices of tokens fall on each expert, without choices of padding: i32[B, T, K]
/// -> f32[E].
Tensor counts_of(const Tensor& experts_BTK, int64_t num_experts);

// Top-k routing with a choice of scores, weights and noise.
//
// Source: Shazeer et al. 2017, arXiv 1701.06538, section 2.1; Jiang et al. 2024, "Mixtral",
// arXiv 2401.04088, section 2.1.

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

// Top-2 routing.
//
// Source: Lepikhin et al. 2020, "GShard", arXiv 2006.16668, algorithm 1.

/// Each token goes to the two experts with the largest softmax scores. The weights are these scores
/// divided by their sum. The load-balance loss counts first choices only.
///
/// Shapes: x_BTD f32|bf16 -> experts i32[B, T, 2], weights f32[B, T, 2] that sum to 1.
class Top2Router final : public LinearRouter {
 public:
  struct Config {
    /// Bound of the logits: they become cap * tanh(logits / cap); none: no bound.
    std::optional<Positive<double>> logit_cap = {};
    /// Weights of the losses.
    RouterLosses losses = {};
    AXLE_CONFIG(Top2Router, logit_cap, losses)
  };
  Top2Router(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Routing forward(const Tensor& x_BTD) override;
};

// Top-1 routing.
//
// Source: Fedus, Zoph & Shazeer 2021, "Switch Transformers", arXiv 2101.03961, section 2.1.

/// Each token goes to the expert with the largest softmax score. Its weight is this score, so that
/// the router learns from the result.
///
/// Shapes: x_BTD f32|bf16 -> experts i32[B, T, 1], weights f32[B, T, 1] in (0, 1].
class SwitchRouter final : public LinearRouter {
 public:
  struct Config {
    /// Bound of the logits: they become cap * tanh(logits / cap); none: no bound.
    std::optional<Positive<double>> logit_cap = {};
    /// Weights of the losses.
    RouterLosses losses = {};
    AXLE_CONFIG(SwitchRouter, logit_cap, losses)
  };
  SwitchRouter(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Routing forward(const Tensor& x_BTD) override;
};

// Routing that balances loads by a bias instead of a loss, within a few groups of experts.
//
// Source: Wang et al. 2024, arXiv 2408.15664; DeepSeek-AI 2024, "DeepSeek-V3", arXiv 2412.19437,
// section 2.1.2.

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
