// Adafactor: Adam with second moments that are factored over rows and columns.
//
// Source: Shazeer & Stern 2018, arXiv 1804.04235, algorithms 4 and 5.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/descent.h"
#include "learn/optimizer.h"
#include "learn/param_matrices.h"
#include "learn/schedules/decay_schedules.h"
#include "learn/schedules/warmup_schedule.h"

namespace axle {

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

}  // namespace axle
