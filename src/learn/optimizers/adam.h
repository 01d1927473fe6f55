// Adam with L2 regularisation.
//
// Source: Kingma & Ba 2015, arXiv 1412.6980, algorithm 1.
#pragma once

#include "learn/descent.h"
#include "learn/optimizer.h"
#include "learn/schedules/warmup_schedule.h"

namespace axle {

/// update = -learning_rate * m_hat / (sqrt(v_hat) + eps)
/// where m_hat and v_hat are the bias-corrected moving means of g = gradient + l2 * scale * param
/// and of its square. So the regularisation enters the moments; AdamW keeps it apart.
///
/// State: "m/<path>" and "v/<path>", f32.
class Adam final : public Optimizer {
 public:
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Decay of the mean of gradients.
    FractionBelowOne b1 = 0.9;
    /// Decay of the mean of squared gradients.
    FractionBelowOne b2 = 0.95;
    /// Added to the square root of the mean square.
    Positive<double> eps = 1e-8;
    /// Weight of sum(param^2) / 2 in the loss.
    NonNegative<double> l2 = 0;
    /// Factors of `l2` for parameters whose path matches a pattern.
    WeightDecayScales l2_scales = {};
    AXLE_CONFIG(Adam, learning_rate, b1, b2, eps, l2, l2_scales)
  };
  Adam(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  Tree<double> l2_;  // for each parameter: l2 times its scale
};

}  // namespace axle
