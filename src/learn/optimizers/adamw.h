// Adam with decoupled weight decay.
//
// Source: Kingma & Ba 2015, arXiv 1412.6980; Loshchilov & Hutter 2019, arXiv 1711.05101.
#pragma once

#include "learn/descent.h"
#include "learn/optimizer.h"
#include "learn/schedules/warmup_schedule.h"

namespace axle {

/// update = -update_schedule * (learning_rate * m_hat / (sqrt(v_hat) + eps)
///                              + factor * weight_decay * scale * param)
/// where m_hat and v_hat are the bias-corrected moving means of the gradient and its square.
///
/// State: "m/<path>" and "v/<path>", f32. Throws ConfigError unless 0 <= b1, b2 < 1 and eps > 0.
class AdamW final : public Optimizer {
 public:
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Factor of the whole update at each step: of the learning rate and of the decay.
    Schedule update_schedule = ConstantRate{.value = 1};
    /// Decay of the mean of gradients.
    FractionBelowOne b1 = 0.9;
    /// Decay of the mean of squared gradients.
    FractionBelowOne b2 = 0.95;
    /// Added to the square root of the mean square.
    Positive<double> eps = 1e-8;
    /// Fraction of a weight that one step subtracts, before all other factors.
    NonNegative<double> weight_decay = 0;
    /// Factor of the decay besides the update schedule.
    DecayFactor decay_factor = DecayFactor::kLearningRate;
    /// Factors of the decay for parameters whose path matches a pattern.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(AdamW, learning_rate, update_schedule, b1, b2, eps, weight_decay, decay_factor,
                weight_decay_scales)
  };
  AdamW(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  Descent descent_;
};

}  // namespace axle
