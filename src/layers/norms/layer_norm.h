// Layer normalisation.
//
// Source: Ba et al. 2016, arXiv 1607.06450.
#pragma once

#include "layers/norms/norm.h"

namespace axle {

/// x -> (x - mean(x)) / sqrt(variance(x) + eps) * scale + bias, over the last dim.
///
/// Shapes: x[..., D] f32|bf16 -> y[..., D], dtype of x.
/// Numerics: the normalised x is computed in f32, its variance in two passes, and rounded to the
/// dtype of x before the product with scale.
/// Parameters: scale[D], bias[D].
class LayerNorm final : public Norm {
 public:
  struct Config {
    /// Added to the variance before the square root.
    Positive<float> eps = 1e-6f;
    AXLE_CONFIG(LayerNorm, eps)
  };
  LayerNorm(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Positive<float> eps_;
  Param scale_;
  Param bias_;
};

}  // namespace axle
