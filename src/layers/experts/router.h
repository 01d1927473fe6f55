// The role Router of a mixture of experts, and the scale of its losses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/text/text.h"
#include "config/fields.h"
#include "ir/tensor.h"
#include "nn/layer.h"

namespace axle {

// A factor of the load-balance loss that follows how many tokens are dropped.
//
// Source: AXLearn, common/mixture_of_experts.py (AdaptiveLoadBalanceLoss).

/// What counts as overload: the share of all choices that were dropped, or the share among first,
/// second, .. choices, whichever is largest.
enum class Overload { kMean, kLargest };
constexpr auto texts_of(Overload) {
  return std::to_array<EnumText<Overload>>(
      {{Overload::kMean, "mean"}, {Overload::kLargest, "largest"}});
}

/// dropped_K f32[K] -> a factor f32[]. The overload is averaged over past batches. While the
/// average is above max_overload, each training step multiplies the factor by exp(log_step); while
/// it is below min_overload, each step divides it. The factor starts at 1.
///
/// State: log_scale and average f32[], count i32[], changed in training.
/// Summaries: "overload", the average, and "scale", the factor.
class AdaptiveLossScale final
    : public LayerRole<AdaptiveLossScale, Tensor(const Tensor& dropped_K)> {
 public:
  /// Empty: the layer needs no sizes.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"dropped"};
  struct Config {
    /// The factor grows while the average overload is above this share.
    Required<Fraction> max_overload = REQUIRED;
    /// The factor shrinks while the average overload is below this share.
    Fraction min_overload = 0.001;
    /// Change of the factor's logarithm in one step.
    Positive<double> log_step = 0.01;
    /// Least weight of the newest batch in the average (next_average).
    Required<Fraction> min_weight = REQUIRED;
    /// What counts as overload.
    Overload overload = Overload::kMean;
    AXLE_CONFIG(AdaptiveLossScale, max_overload, min_overload, log_step, min_weight, overload)
  };
  AdaptiveLossScale(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& dropped_K) override;

 private:
  Config cfg_;
};

// How the tokens of a batch are divided into groups, each of which has its own capacity of experts.
//
// Letters in tensor names from here on:
//   B batch   T positions   N groups   S slots of a group   M = B * T = N * S

/// What borders between groups count. kPositions: each group has the same number of consecutive
/// positions, so that no token moves. kTokens: each has the same number of tokens, give or take
/// one, wherever padding is. kRows: each row is a group, so that neither happens.
enum class GroupBorders : uint8_t { kPositions, kTokens, kRows };
constexpr auto texts_of(GroupBorders) {
  return std::to_array<EnumText<GroupBorders>>({{GroupBorders::kPositions, "positions", "places"},
                                                {GroupBorders::kTokens, "tokens"},
                                                {GroupBorders::kRows, "rows"}});
}
/// Returns the borders for a call of a layer with `in_training`; evaluation never uses kPositions.
constexpr GroupBorders borders_of_call(GroupBorders in_training, bool is_training) {
  return is_training || in_training == GroupBorders::kRows ? in_training : GroupBorders::kTokens;
}

class TokenGroups {
 public:
  /// `x` is [B, T, ..]; B * T must be a multiple of num_groups, which does not count for kRows.
  /// `is_real` is bool[B, T, ..] with B * T elements; none: all positions hold tokens.
  TokenGroups(const Tensor& x, int64_t num_groups, const std::optional<Tensor>& is_real,
              GroupBorders borders);

  /// Number of groups.
  int64_t count() const { return groups_; }
  /// Number of slots of a group.
  int64_t size() const { return size_; }
  /// bool[N, S]: slots that hold tokens; none: all do.
  const std::optional<Tensor>& is_real() const { return is_real_NS_; }
  /// [B, T, ..] -> [N, S, ..]. Slots without a token hold any of them.
  Tensor divided(const Tensor& t_BT) const;
  /// [N, S, ..] -> [B, T, ..], zeros for padding.
  Tensor joined(const Tensor& t_NS) const;

 private:
  void divide_tokens(const Tensor& is_real_M);

  int64_t rows_, length_, groups_, size_;
  std::optional<Tensor> is_real_NS_ = {};
  // Where tokens move, for GroupBorders::kTokens.
  struct Moves {
    Tensor position_NS;  // i32: the position of each slot
    Tensor place_M;      // i32: the slot of each position
    Tensor is_real_M;    // bool: positions that hold tokens
  };
  std::optional<Moves> moves_ = {};
};

// The role Router: chooses the experts of each token in a mixture of experts.
//
// Letters in tensor names from here on, and in the other files of this folder:
//   B batch   T positions   D model dim   H hidden dim   E experts   K choices of a token
//   O outer batch   G groups of tokens   S tokens of a group   C capacity of an expert

/// The choices of a router.
struct Routing {
  /// i32[B, T, K]: the experts of each token, all different. Where capacity is short, first choices
  /// precede second ones.
  Tensor experts_BTK;
  /// f32[B, T, K]: the weight of each chosen expert in the result.
  Tensor weights_BTK;
  /// f32 scalars that the objective must include, by name. They include their weights.
  Tree<Tensor> losses = {};

  template <class F>
  void each_field(F&& fn) {
    fn("experts", experts_BTK);
    fn("weights", weights_BTK);
    fn("losses", losses);
  }
};

/// The sizes of a router, given by the layer with the experts.
struct RouterDims {
  /// Size of the last dim of x.
  Positive<int64_t> model_dim;
  /// Number of experts to choose from.
  Positive<int64_t> num_experts;
  /// The tokens of a batch form this many groups. Loads are balanced in each of them.
  Positive<int64_t> num_groups;
  /// What the borders between groups count in training.
  GroupBorders train_borders = GroupBorders::kTokens;
  AXLE_CONFIG(RouterDims, model_dim, num_experts, num_groups, train_borders)
};

/// x_BTD -> the experts of each token and their weights. A token's choice depends on this token
/// alone. Padding also gets experts; losses, loads and statistics do not count it (real_tokens).
class Router : public LayerRole<Router, Routing(const Tensor& x_BTD)> {
 public:
  using Dims = RouterDims;
  static constexpr InputNames kInputs = {"x"};
  static constexpr InputVectors kVectors = {&Dims::model_dim, 3};
  using LayerRole::LayerRole;
  bool can_decode() const override { return true; }
  /// K, the number of experts that a token gets.
  virtual int64_t num_choices() const = 0;

 protected:
  friend LayerRole;
  void check_result(const Routing& routing, const Tensor& x_BTD) const;
};

extern template class LayerRole<Router, Router::Signature>;

/// Weights of a router's losses in the objective; 0: the loss is left out.
struct RouterLosses {
  /// Weight of the load-balance loss, which is 1 if all experts get equally many tokens.
  NonNegative<double> load_balance = 0.01;
  /// Weight of the mean of log(sum(exp(logits)))^2.
  NonNegative<double> z = 0.001;
  /// Weight of the load-balance loss within each row of the batch.
  NonNegative<double> sequence_balance = 0;
  /// Weight of the mean correlation between the weights of two experts.
  NonNegative<double> correlation = 0;
  AXLE_CONFIG(RouterLosses, load_balance, z, sequence_balance, correlation)
};

/// The router z-loss: the mean over tokens of log(sum(exp(logits)))^2. Padding does not count
/// (real_tokens), here and below.
///
/// Shapes: logits_BTE f32 -> f32[]. Source: Zoph et al. 2022, arXiv 2202.08906, section 3.2.
Tensor router_z_loss(const Tensor& logits_BTE);

/// The load-balance loss E * sum(load * score), a mean over groups, which count by their tokens.
/// `load` is the share of the group's choices that fall on an expert, `score` the mean of its share
/// in the scores. It is 1 for equal loads, and up to E / K if the same K experts are always chosen.
///
/// Shapes: scores_BTE f32 (not negative), experts_BTK i32 -> f32[]. B * T must be a multiple of
/// num_groups. Source: Shazeer et al. 2017, arXiv 1701.06538; Fedus et al. 2021, arXiv 2101.03961,
/// section 2.2; with num_groups = B: DeepSeek-AI 2024, arXiv 2412.19437, equations 17 to 20.
Tensor load_balance_loss(const Tensor& scores_BTE, const Tensor& experts_BTK, int64_t num_groups,
                         GroupBorders borders = GroupBorders::kPositions);

/// Half the mean of |cosine| over all pairs of columns of the weight, without the pairs of a column
/// with itself: small if experts look for different tokens.
///
/// Shapes: weight_DE -> f32[]. Source: AXLearn, common/mixture_of_experts.py (corr_loss_weight).
Tensor expert_correlation(const Tensor& weight_DE);

/// Returns scores / sum(scores): the share of each expert. Shares of scores that are all zero are
/// zero. Shapes: f32[.., E] -> f32[.., E].
Tensor shares_of(const Tensor& scores);

}  // namespace axle
