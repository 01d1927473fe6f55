// Division by the length of a vector.
#pragma once

#include "layers/norms/norm.h"

namespace axle {

/// x -> x / sqrt(sum(x^2) + eps), over the last dim.
///
/// Shapes: x[..., D] f32|bf16 -> y[..., D], dtype of x.
/// Numerics: computed in f32 and rounded once at the end.
class L2Norm final : public Norm {
 public:
  struct Config {
    /// Added to the squared length before the square root.
    Positive<float> eps = 1e-6f;
    AXLE_CONFIG(L2Norm, eps)
  };
  L2Norm(const Config& cfg, const Dims&, const Scope& scope) : Norm(scope), eps_(cfg.eps) {}

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Positive<float> eps_;
};

}  // namespace axle
