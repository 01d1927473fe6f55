// A residual around a mixer; the norm precedes the mixer.
//
// Source: Xiong et al. 2020, arXiv 2002.04745.
#pragma once

#include "layers/blocks/normed_residual.h"
#include "layers/norms/rms_norm.h"

namespace axle {

/// x -> join(x, dropout(body(norm(x)))). Shapes: x_BTD -> y_BTD, dtype of x.
class PreNorm final : public NormedResidual {
 public:
  struct Config {
    /// Norm before the body.
    Child<Norm> norm = RMSNorm::Config{};
    /// The mixer inside the residual.
    Child<Mixer> body = {};
    /// Dropout on the result of the body; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Joins the result of the body with x.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(PreNorm, norm, body, dropout, join)
  };
  PreNorm(const Config& cfg, const Dims& dims, const Scope& scope)
      : NormedResidual(cfg, dims, scope) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;
};

}  // namespace axle
