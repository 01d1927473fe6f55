// Gradient clipping.
//
// Source: Pascanu et al. 2013, arXiv 1211.5063, section 3.2.
#pragma once

#include "config/fields/ranged.h"
#include "learn/gradient_transform.h"

namespace axle {

/// gradients * min(1, max_norm / (norm + eps)), where norm is the global norm of all gradients.
class ClipByGlobalNorm final : public GradientTransform {
 public:
  struct Config {
    /// Gradients with a larger global norm are scaled down to this norm.
    Positive<double> max_norm = 1;
    /// Added to the norm in the denominator.
    NonNegative<double> eps = 1e-8;
    AXLE_CONFIG(ClipByGlobalNorm, max_norm, eps)
  };
  /// Throws ConfigError unless max_norm is positive.
  ClipByGlobalNorm(const Config& cfg, const Dims& dims, const Scope& scope);
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  Config cfg_;
};

}  // namespace axle
