// Stochastic gradient descent with momentum.
//
// Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep
// learning" (classical momentum).
#pragma once

#include "learn/optimizer.h"
#include "learn/schedules/warmup_schedule.h"
#include "learn/weight_decay.h"

namespace axle {

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

}  // namespace axle
