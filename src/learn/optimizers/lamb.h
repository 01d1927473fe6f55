// LAMB: Adam with a rate for each parameter, in proportion to its norm.
//
// Source: You et al. 2020, arXiv 1904.00962, algorithm 2, with the identity as phi.
#pragma once

#include "learn/descent.h"
#include "learn/optimizer.h"
#include "learn/schedules/warmup_schedule.h"

namespace axle {

/// update = -learning_rate * trust * u with u = m_hat / (sqrt(v_hat) + eps) + weight_decay * scale
/// * param and trust = |param| / |u|, or 1 if one of the norms is 0. m_hat and v_hat are as in
/// AdamW. Each layer of a Repeat has norms of its own.
///
/// State: "m/<path>" and "v/<path>", f32.
class Lamb final : public Optimizer {
 public:
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Decay of the mean of gradients.
    FractionBelowOne b1 = 0.9;
    /// Decay of the mean of squared gradients.
    FractionBelowOne b2 = 0.999;
    /// Added to the square root of the mean square.
    Positive<double> eps = 1e-6;
    /// Weight of the parameters in the direction u.
    NonNegative<double> weight_decay = 0;
    /// Factors of the decay for parameters whose path matches a pattern.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(Lamb, learning_rate, b1, b2, eps, weight_decay, weight_decay_scales)
  };
  Lamb(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  Tree<double> decay_;  // for each parameter: weight_decay times its scale
};

}  // namespace axle
