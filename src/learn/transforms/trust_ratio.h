// The trust ratio: scales the gradient of each parameter to the parameter's own norm.
//
// Source: You et al. 2017, arXiv 1708.03888, section 4 (LARS).
#pragma once

#include "config/fields/ranged.h"
#include "learn/gradient_transform.h"

namespace axle {

/// gradient * coefficient * |param| / (|gradient| + eps), for each parameter; unchanged if one of
/// the norms is 0. Each layer of a Repeat has norms of its own. Before Sgd this is LARS.
class TrustRatio final : public GradientTransform {
 public:
  struct Config {
    /// Factor of all ratios.
    Positive<double> coefficient = 1;
    /// Added to the norm of the gradient.
    NonNegative<double> eps = 0;
    AXLE_CONFIG(TrustRatio, coefficient, eps)
  };
  TrustRatio(const Config& cfg, const Dims& dims, const Scope&) : cfg_(cfg), params_(dims.params) {}
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
};

/// Traced: returns coefficient * |param| / (|update| + eps) for each block (block_axes), with
/// reduced dims of size 1; 1 where a norm is 0. Both tensors are f32.
Tensor trust_ratio(const Tensor& param, const Tensor& update, const ParamSpec& spec,
                   double coefficient = 1, double eps = 0);

}  // namespace axle
