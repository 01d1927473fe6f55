// Adafactor, and Adastar, which joins it with Adam's parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/matrix_split.h"
#include "learn/optimizer.h"
#include "learn/schedules/schedules.h"

namespace axle {

// Adafactor: Adam with second moments that are factored over rows and columns.
//
// Source: Shazeer & Stern 2018, arXiv 1804.04235, algorithms 4 and 5.

/// What the learning rate is a fraction of.
enum class StepSize {
  kAbsolute,  // of 1
  kRelative,  // of the root mean square of the parameter, at least 1e-3
};
constexpr auto texts_of(StepSize) {
  return std::to_array<EnumText<StepSize>>(
      {{StepSize::kAbsolute, "absolute"}, {StepSize::kRelative, "relative"}});
}

/// u = gradient / sqrt(v) with v the moving mean of gradient^2 + eps. For matrices v is the product
/// of its means over rows and over columns, divided by the mean of all. Each matrix of a stack has
/// its own means. Then u is clipped by its root mean square, multiplied by the learning rate and,
/// if the step size is relative, by the root mean square of the parameter. The update is minus the
/// moving mean of that, minus factor * weight_decay * scale * param. Each layer of a Repeat is
/// clipped and scaled by itself.
///
/// State, f32: "m/<path>" if b1 is set; "v/<path>", or for matrices "v_over_rows/<path>" and
/// "v_over_columns/<path>" without the dim that they are means over. The means are not made
/// unbiased: a constant b1 or b2 begins at 0 (DebiasedDecay does not).
class Adafactor final : public Optimizer {
 public:
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Decay of the mean of updates; none: no momentum and no state for it.
    std::optional<Schedule> b1 = {};
    /// Decay of the mean of squared gradients.
    Schedule b2 = AdafactorDecay{};
    /// Added to the squared gradients.
    Positive<double> eps = 1e-30;
    /// Largest root mean square of the update of a parameter, before the learning rate; none: no
    /// clipping.
    std::optional<Positive<double>> max_rms = 1.0;
    /// What the learning rate is a fraction of.
    StepSize step_size = StepSize::kAbsolute;
    /// Patterns of the paths of matrices (matrix_dims) without factored second moments; "**": no
    /// moments are factored.
    std::vector<std::string> unfactored = {};
    /// Fraction of a weight that one step subtracts, before all other factors.
    NonNegative<double> weight_decay = 0;
    /// Factor of the decay.
    DecayFactor decay_factor = DecayFactor::kLearningRate;
    /// Factors of the decay for parameters whose path matches a pattern.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(Adafactor, learning_rate, b1, b2, eps, max_rms, step_size, unfactored, weight_decay,
                decay_factor, weight_decay_scales)
  };
  Adafactor(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  Tensor normalized(const std::string& path, const Tensor& g, const Tensor& b2,
                    const Tree<Tensor>& state, Tree<Tensor>& next) const;

  Config cfg_;
  Tree<ParamSpec> params_;
  Tree<MatrixDims> factored_;
  Descent descent_;
};

// AdaStar: one optimizer that covers Adam with decoupled decay and Adafactor without factoring.
//
// Source: apple/axlearn, axlearn/common/optimizers.py, adastar_optimizer; Kingma & Ba 2015, arXiv
// 1412.6980; Shazeer & Stern 2018, arXiv 1804.04235.

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
