// Stochastic gradient descent with momentum.
//
// Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep
// learning", classical momentum.
#pragma once

#include "learn/optimizer.h"
#include "learn/warmup_schedule.h"
#include "learn/weight_decay.h"

namespace axle {

/// update = -rate * (m + weight_decay * scale * param) with m' = momentum * m + gradient.
///
/// State: "m/<path>", f32; none without momentum. Throws ConfigError for momentum outside [0, 1).
class Sgd final : public Optimizer {
 public:
  struct Config {
    /// By step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Share of the last update in the next; 0: no state.
    FractionBelowOne momentum = 0;
    /// Multiplied by the learning rate, apart from the momentum.
    NonNegative<double> weight_decay = 0;
    /// Factors of the decay by patterns of parameters.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(Sgd, learning_rate, momentum, weight_decay, weight_decay_scales)
  };
  Sgd(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tensor learning_rate(const Tensor& step) const override { return cfg_.learning_rate(step); }

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  Tree<double> decay_;  // of each parameter: rate times scale
};

}  // namespace axle
