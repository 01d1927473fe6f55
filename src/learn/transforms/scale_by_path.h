// Factors of the gradients or updates of single parameters.
#pragma once

#include "learn/gradient_transform.h"
#include "learn/path_rules.h"

namespace axle {

/// gradient * scale, with the scale of the pattern that matches the parameter's path; 1 without
/// one. After the optimizer (Learner::update_transforms) it scales the learning rate and the decay
/// of these parameters.
///
/// A pattern may name parameters that are not trained. Throws ConfigError if a pattern matches no
/// parameter, or if two with different scales match one.
class ScaleByPath final : public GradientTransform {
 public:
  struct Config {
    /// Factors by pattern of parameter paths: {"**.lm_head.weight": 0.25}.
    NumbersByPath scales = {};
    AXLE_CONFIG(ScaleByPath, scales)
  };
  ScaleByPath(const Config& cfg, const Dims& dims, const Scope& scope);
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  Tree<double> scales_;
};

}  // namespace axle
