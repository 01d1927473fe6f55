// Lion: signs of an interpolated momentum.
//
// Source: Chen et al. 2023, arXiv 2302.06675, algorithm 2.
#pragma once

#include "learn/descent.h"
#include "learn/optimizer.h"
#include "learn/schedules/warmup_schedule.h"

namespace axle {

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
