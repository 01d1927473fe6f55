// The parts that routers with a linear map from tokens to logits share.
#pragma once

#include "layers/experts/router_losses.h"

namespace axle {

/// A function from logits f32[.., E] to scores of the experts, which are not negative: "softmax" or
/// "sigmoid".
using ScoreFn = Fn<Tensor(const Tensor&)>;

/// Returns softmax(logits) along the last dim; its name in configs is "softmax".
Tensor softmax_scores(const Tensor& logits);

/// A router whose logits are cap(x * weight), computed in f32 whatever the dtype of x.
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

/// Returns how many choices of tokens fall on each expert, without those of padding: i32[B, T, K]
/// -> f32[E].
Tensor counts_of(const Tensor& experts_BTK, int64_t num_experts);

}  // namespace axle
