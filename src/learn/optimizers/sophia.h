// Sophia: momentum divided by an estimate of the diagonal of the Hessian, and clipped.
//
// Source: Liu et al. 2023, arXiv 2305.14342, algorithms 1 to 3.
#pragma once

#include "learn/optimizer.h"
#include "learn/schedules/schedules.h"

namespace axle {

/// How the diagonal of the Hessian is estimated.
enum class Curvature {
  kGaussNewton,  // squared gradients for targets that the model draws; for models of tokens
  kHutchinson,   // u * (H u) for a random u; for every objective, at the cost of H u
};
constexpr auto texts_of(Curvature) {
  return std::to_array<EnumText<Curvature>>(
      {{Curvature::kGaussNewton, "gauss_newton"}, {Curvature::kHutchinson, "hutchinson"}});
}

/// update = -learning_rate * (clip(m / max(gamma * h, eps), -1, 1) + weight_decay * scale * param)
/// with the moving mean m of the gradient, and the moving mean h of estimates of the diagonal of
/// the Hessian. Steps 1, 1 + every_steps, ... evaluate the objective again and update h.
///
/// State, f32: "m/<path>" and "h/<path>".
class Sophia final : public Optimizer {
 public:
  struct Config {
    /// Learning rate at each step.
    Schedule learning_rate = CosineWithWarmup{};
    /// Decay of the mean of gradients.
    FractionBelowOne b1 = 0.96;
    /// Decay of the mean of the curvature.
    FractionBelowOne b2 = 0.99;
    /// Factor of the curvature: the larger, the fewer elements are clipped.
    Positive<double> gamma = 0.05;
    /// The least divisor.
    Positive<double> eps = 1e-12;
    /// Steps between two estimates of the curvature.
    Positive<int64_t> every_steps = 10;
    /// How the curvature is estimated.
    Curvature curvature = Curvature::kGaussNewton;
    /// Fraction of a weight that one step subtracts, before all other factors.
    NonNegative<double> weight_decay = 0;
    /// Factor of the decay.
    DecayFactor decay_factor = DecayFactor::kLearningRate;
    /// Factors of the decay for parameters whose path matches a pattern.
    WeightDecayScales weight_decay_scales = {};
    AXLE_CONFIG(Sophia, learning_rate, b1, b2, gamma, eps, every_steps, curvature, weight_decay,
                decay_factor, weight_decay_scales)
  };
  Sophia(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  /// Returns "<path>": the estimated diagonal, zeros in steps that estimate none.
  Tree<Tensor> measure(const MeasureInputs& in) const override;
  /// Throws ConfigError if the caller has not measured.
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  /// True in steps that update h.
  Tensor is_due(const Tensor& step) const;

  Config cfg_;
  Tree<ParamSpec> params_;
  Descent descent_;
  std::string path_;
};

}  // namespace axle
