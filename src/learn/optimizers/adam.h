// Adam, AdamW and LAMB.
#pragma once

#include "learn/optimizer.h"
#include "learn/schedules/schedules.h"

namespace axle {

// Adam with L2 regularisation.
//
// Source: Kingma & Ba 2015, arXiv 1412.6980, algorithm 1.

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

// Adam with decoupled weight decay.
//
// Source: Kingma & Ba 2015, arXiv 1412.6980; Loshchilov & Hutter 2019, arXiv 1711.05101.

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

// LAMB: Adam with a rate for each parameter, in proportion to its norm.
//
// Source: You et al. 2020, arXiv 1904.00962, algorithm 2, with the identity as phi.

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
