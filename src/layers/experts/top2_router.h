// Top-2 routing.
//
// Source: Lepikhin et al. 2020, "GShard", arXiv 2006.16668, algorithm 1.
#pragma once

#include "layers/experts/linear_router.h"

namespace axle {

/// Each token goes to the two experts with the largest softmax scores. The weights are these scores
/// divided by their sum. The load-balance loss counts first choices only.
///
/// Shapes: x_BTD f32|bf16 -> experts i32[B, T, 2], weights f32[B, T, 2] that sum to 1.
class Top2Router final : public LinearRouter {
 public:
  struct Config {
    /// Bound of the logits: they become cap * tanh(logits / cap); none: no bound.
    std::optional<Positive<double>> logit_cap = {};
    /// Weights of the losses.
    RouterLosses losses = {};
    AXLE_CONFIG(Top2Router, logit_cap, losses)
  };
  Top2Router(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Routing forward(const Tensor& x_BTD) override;
};

}  // namespace axle
