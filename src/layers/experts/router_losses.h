// The losses that keep a router balanced: equal loads of the experts, small logits.
#pragma once

#include "config/fields/ranged.h"
#include "layers/experts/router.h"
#include "layers/experts/token_groups.h"

namespace axle {

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
                         GroupBorders borders = GroupBorders::kPlaces);

/// Half the mean of |cosine| over all pairs of columns of the weight, without the pairs of a column
/// with itself: small if experts look for different tokens.
///
/// Shapes: weight_DE -> f32[]. Source: AXLearn, common/mixture_of_experts.py (corr_loss_weight).
Tensor expert_correlation(const Tensor& weight_DE);

/// Returns scores / sum(scores): the share of each expert. Shares of scores that are all zero are
/// zero. Shapes: f32[.., E] -> f32[.., E].
Tensor shares_of(const Tensor& scores);

}  // namespace axle
