// A residual around a mixer; the norm follows the residual.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.1.
#pragma once

#include "layers/blocks/normed_residual.h"
#include "layers/norms/rms_norm.h"

namespace axle {

/// x -> norm(join(x, dropout(body(x)))). Shapes: x_BTD -> y_BTD, dtype of x.
class PostNorm final : public NormedResidual {
 public:
  struct Config {
    /// Norm after the residual.
    Child<Norm> norm = RMSNorm::Config{};
    /// The mixer inside the residual.
    Child<Mixer> body = {};
    /// Dropout on the result of the body; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Joins the result of the body with x.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(PostNorm, norm, body, dropout, join)
  };
  PostNorm(const Config& cfg, const Dims& dims, const Scope& scope)
      : NormedResidual(cfg, dims, scope) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;
};

}  // namespace axle
