// Top-1 routing.
//
// Source: Fedus, Zoph & Shazeer 2021, "Switch Transformers", arXiv 2101.03961, section 2.1.
#pragma once

#include "layers/experts/linear_router.h"

namespace axle {

/// Each token goes to the expert with the largest softmax score. Its weight is this score, so that
/// the router learns from the result.
///
/// Shapes: x_BTD f32|bf16 -> experts i32[B, T, 1], weights f32[B, T, 1] in (0, 1].
class SwitchRouter final : public LinearRouter {
 public:
  struct Config {
    /// Bound of the logits: they become cap * tanh(logits / cap); none: no bound.
    std::optional<Positive<double>> logit_cap = {};
    /// Weights of the losses.
    RouterLosses losses = {};
    AXLE_CONFIG(SwitchRouter, logit_cap, losses)
  };
  SwitchRouter(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Routing forward(const Tensor& x_BTD) override;
};

}  // namespace axle
