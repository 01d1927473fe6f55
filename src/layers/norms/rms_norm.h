// Root-mean-square normalisation.
//
// Source: Zhang & Sennrich 2019, arXiv 1910.07467, equation 4. The scale around one: Gemma Team
// 2024, arXiv 2403.08295.
#pragma once

#include "layers/norms/norm.h"

namespace axle {

/// What an RMSNorm keeps around zero.
enum class ZeroCentred { kNone, kInput, kScale };
constexpr auto texts_of(ZeroCentred) {
  return std::to_array<EnumText<ZeroCentred>>({{ZeroCentred::kNone, "none"},
                                               {ZeroCentred::kInput, "input"},
                                               {ZeroCentred::kScale, "scale"}});
}

/// x -> x / sqrt(mean(x^2) + eps) * scale, over the last dim.
///
/// Shapes: x[..., D] f32|bf16 -> y[..., D], dtype of x.
/// Numerics: the normalised x is computed in f32 and rounded to the dtype of x before the product
/// with scale. A scale around one is multiplied in f32, before rounding.
/// Parameters: scale[D].
class RMSNorm final : public Norm {
 public:
  struct Config {
    /// Added to the mean square before the square root.
    Positive<float> eps = 1e-6f;
    /// none: as above. input: the mean of x is subtracted from the dividend, but not from the x
    /// under the root. scale: the factor is 1 + scale, and scale starts at 0.
    ZeroCentred zero_centred = ZeroCentred::kNone;
    AXLE_CONFIG(RMSNorm, eps, zero_centred)
  };
  RMSNorm(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Positive<float> eps_;
  ZeroCentred zero_centred_;
  Param scale_;
};

}  // namespace axle
