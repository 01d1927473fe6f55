// A residual around a mixer, with a norm on both sides of the mixer.
//
// Source: Ding et al. 2021, arXiv 2105.13290, section 2.4; Gemma Team 2024, arXiv 2408.00118,
//   section 2. AXLearn calls it "hybridnorm".
#pragma once

#include "layers/blocks/normed_residual.h"
#include "layers/norms/rms_norm.h"

namespace axle {

/// x -> join(x, dropout(post_norm(body(norm(x))))). Shapes: x_BTD -> y_BTD, dtype of x.
class HybridNorm final : public NormedResidual {
 public:
  struct Config {
    /// Norm before the body.
    Child<Norm> norm = RMSNorm::Config{};
    /// The mixer inside the residual.
    Child<Mixer> body = {};
    /// Norm of the result of the body.
    Child<Norm> post_norm = RMSNorm::Config{};
    /// Dropout on the result of the norm; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Joins the result with x.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(HybridNorm, norm, body, post_norm, dropout, join)
  };
  HybridNorm(const Config& cfg, const Dims& dims, const Scope& scope)
      : NormedResidual(cfg, dims, scope),
        post_norm_(child("post_norm", cfg.post_norm, {.input_dim = dims.model_dim})) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  Handle<Norm> post_norm_;
};

}  // namespace axle
