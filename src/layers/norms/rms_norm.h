// Root-mean-square normalisation.
//
// Source: Zhang & Sennrich 2019, arXiv 1910.07467, equation 4.
#pragma once

#include "layers/norms/norm.h"

namespace axle {

/// x -> x / sqrt(mean(x^2) + eps) * scale, over the last dim.
///
/// Shapes: x[..., D] f32|bf16 -> y[..., D], dtype of x.
/// Numerics: the normalised x is computed in f32 and rounded to the dtype of x before the product
/// with scale.
/// Parameters: scale[D].
class RMSNorm final : public Norm {
 public:
  struct Config {
    /// Added to the mean square before the square root.
    Positive<float> eps = 1e-6f;
    AXLE_CONFIG(RMSNorm, eps)
  };
  RMSNorm(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Positive<float> eps_;
  Param scale_;
};

}  // namespace axle
