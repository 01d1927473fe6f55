// AdaStar: one optimizer that covers Adam with decoupled decay and Adafactor without factoring.
//
// Source: apple/axlearn, axlearn/common/optimizers.py, adastar_optimizer; Kingma & Ba 2015, arXiv
// 1412.6980; Shazeer & Stern 2018, arXiv 1804.04235.
#pragma once

#include <optional>

#include "learn/descent.h"
#include "learn/optimizer.h"
#include "learn/schedules/warmup_schedule.h"

namespace axle {

/// Whether a moving mean that began at 0 is divided by the sum of its weights.
enum class Debias { kYes, kNo };
constexpr auto texts_of(Debias) {
  return std::to_array<EnumText<Debias>>({{Debias::kYes, "yes"}, {Debias::kNo, "no"}});
}

/// A moving mean: mean' = decay * mean + (1 - decay) * value, from 0 on.
struct MovingMean {
  /// Weight of the old mean.
  FractionBelowOne decay = 0.9;
  /// Whether the mean is made unbiased.
  Debias debias = Debias::kYes;
  static constexpr std::string_view kFromNumber = "decay";
  AXLE_CONFIG(MovingMean, decay, debias)
};

/// u = mean(gradient) / (sqrt(mean(gradient^2 + eps_square)) + eps), clipped by its root mean
/// square, then averaged over updates:
///   update = -update_schedule * (learning_rate * mean(u) + factor * weight_decay * scale * param)
/// Each layer of a Repeat is clipped by itself.
///
/// State, f32: "v/<path>"; "m/<path>" if gradient_mean is set; "u/<path>" if update_mean is set.
class AdaStar final : public Optimizer {
 public:
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Factor of the whole update at each step: of the learning rate and of the decay.
    Schedule update_schedule = ConstantRate{.value = 1};
    /// Mean of the gradients; none: the gradients themselves.
    std::optional<MovingMean> gradient_mean = MovingMean{};
    /// Mean of the squared gradients.
    MovingMean square_mean = {.decay = 0.95};
    /// Added to the root of the mean square.
    NonNegative<double> eps = 1e-8;
    /// Added to the squared gradients.
    NonNegative<double> eps_square = 0;
    /// Largest root mean square of u; none: no clipping.
    std::optional<Positive<double>> max_rms = {};
    /// Mean of the clipped u over the updates; none: u itself.
    std::optional<MovingMean> update_mean = {};
    /// Fraction of a weight that one step subtracts, before all other factors.
    NonNegative<double> weight_decay = 0;
    /// Factor of the decay besides the update schedule.
    DecayFactor decay_factor = DecayFactor::kOne;
    /// Factors of the decay for parameters whose path matches a pattern.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(AdaStar, learning_rate, update_schedule, gradient_mean, square_mean, eps,
                eps_square, max_rms, update_mean, weight_decay, decay_factor, weight_decay_scales)
  };
  /// Throws ConfigError if both eps and eps_square are 0, since u would be infinite.
  AdaStar(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  Descent descent_;
};

}  // namespace axle
