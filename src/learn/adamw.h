// Adam with weight decay apart from the gradient.
//
// Source: Kingma & Ba 2015, arXiv 1412.6980; Loshchilov & Hutter 2019, arXiv 1711.05101.
#pragma once

#include "base/text/enum_text.h"
#include "learn/optimizer.h"
#include "learn/warmup_schedule.h"
#include "learn/weight_decay.h"

namespace axle {

/// What the weight decay is multiplied by, beside its own rate and the update schedule.
enum class DecayFactor {
  kLearningRate,  // as most libraries do
  kOne,           // as in the paper: changing the learning rate leaves the decay as it is
};
constexpr auto texts_of(DecayFactor) {
  return std::to_array<EnumText<DecayFactor>>({{DecayFactor::kLearningRate, "learning_rate"}, {DecayFactor::kOne, "one"}});
}

/// update = -schedule * (rate * m_hat / (sqrt(v_hat) + eps) + factor * weight_decay * scale *
/// param) with the moving means m of the gradient and v of its square, corrected for their start at
/// 0.
///
/// State: "m/<path>", "v/<path>", f32. Throws ConfigError for b1, b2 outside [0, 1) or eps < 0.
class AdamW final : public Optimizer {
 public:
  struct Config {
    /// By step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Multiplies learning rate and decay alike.
    Schedule update_schedule = ConstantRate{.value = 1};
    /// Decay of the mean of gradients.
    FractionBelowOne b1 = 0.9;
    /// Decay of the mean of squared gradients.
    FractionBelowOne b2 = 0.95;
    /// Added to the root of the mean square.
    Positive<double> eps = 1e-8;
    /// Share of a weight that a step takes away, before decay_factor.
    NonNegative<double> weight_decay = 0;
    /// What the decay is multiplied by beside the update schedule.
    DecayFactor decay_factor = DecayFactor::kLearningRate;
    /// Factors of the decay by patterns of parameters.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(AdamW, learning_rate, update_schedule, b1, b2, eps, weight_decay, decay_factor,
                weight_decay_scales)
  };
  AdamW(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tensor learning_rate(const Tensor& step) const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  Tree<double> decay_;  // of each parameter: rate times scale
};

}  // namespace axle
