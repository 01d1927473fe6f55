// Optimizers with one momentum: SGD and Lion.
#pragma once

#include "learn/optimizer.h"
#include "learn/schedules/schedules.h"
#include "learn/weight_decay.h"

namespace axle {

// Stochastic gradient descent with momentum.
//
// Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep
// learning" (classical momentum).

/// m' = momentum * m + gradient, update = -learning_rate * (m' + weight_decay * scale * param).
///
/// State: "m/<path>", f32; none without momentum. Throws ConfigError unless 0 <= momentum < 1.
class Sgd final : public Optimizer {
 public:
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Factor of the previous m in the next m; 0: no state.
    FractionBelowOne momentum = 0;
    /// Decay of the weights. The learning rate multiplies it; it does not enter the momentum.
    NonNegative<double> weight_decay = 0;
    /// Factors of the decay for parameters whose path matches a pattern.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(Sgd, learning_rate, momentum, weight_decay, weight_decay_scales)
  };
  Sgd(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  Tree<double> decay_;  // for each parameter: weight_decay times its scale
};

// Lion: signs of an interpolated momentum.
//
// Source: Chen et al. 2023, arXiv 2302.06675, algorithm 2.

/// update = -learning_rate * (sign(b1 * m + (1 - b1) * gradient) + weight_decay * scale * param),
/// then m' = b2 * m + (1 - b2) * gradient.
///
/// State: "m/<path>", f32.
class Lion final : public Optimizer {
 public:
  struct Config {
    /// Learning rate at each step; a third to a tenth of that of AdamW.
    Schedule learning_rate = CosineWithWarmup{};
    /// Weight of the momentum in the direction.
    FractionBelowOne b1 = 0.9;
    /// Decay of the momentum.
    FractionBelowOne b2 = 0.99;
    /// Fraction of a weight that one step subtracts, before all other factors.
    NonNegative<double> weight_decay = 0;
    /// Factor of the decay.
    DecayFactor decay_factor = DecayFactor::kLearningRate;
    /// Factors of the decay for parameters whose path matches a pattern.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(Lion, learning_rate, b1, b2, weight_decay, decay_factor, weight_decay_scales)
  };
  Lion(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  Descent descent_;
};

}  // namespace axle
