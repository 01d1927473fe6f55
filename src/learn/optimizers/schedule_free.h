// Schedule-Free: an average of the iterates takes the place of a falling learning rate.
//
// Source: Defazio et al. 2024, arXiv 2405.15682, section 2 and algorithm 1.
#pragma once

#include <memory>

#include "learn/optimizer.h"
#include "learn/optimizers/adamw.h"

namespace axle {

/// Keeps three points: z, which `inner` moves; x, its weighted average, which is the parameters
/// that are evaluated and saved; and y = (1 - beta) * z + beta * x, where gradients are taken.
///   z' = z + inner's update at y
///   x' = (1 - c) * x + c * z', with c = rate^weight_power / sum of rate^weight_power so far
/// `rate` is the learning rate that inner reports. Give inner a constant rate with warm-up, and no
/// momentum (b1 = 0): beta takes its place.
///
/// Transforms of its updates scale the moves of x alone: z moves by the full rate. So it does not
/// say how large its updates are.
///
/// State, f32: "z/<path>", "weight_sum" and "inner/...".
class ScheduleFree final : public Optimizer {
 public:
  struct Config {
    /// Moves z. Its decay works on y.
    Child<Optimizer> inner = AdamW::Config{.learning_rate = ConstantWithWarmup{}, .b1 = 0};
    /// Weight of the average in the point of the gradient.
    FractionBelowOne beta = 0.9;
    /// Power of the learning rate that weighs an iterate in the average.
    NonNegative<double> weight_power = 2;
    AXLE_CONFIG(ScheduleFree, inner, beta, weight_power)
  };
  ScheduleFree(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const Tree<Tensor>& params) const override;
  Tree<Tensor> gradient_point(const Tree<Tensor>& params, const Tree<Tensor>& state) const override;
  Tree<Tensor> measure(const MeasureInputs& in) const override;
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  std::unique_ptr<Optimizer> inner_;
};

}  // namespace axle
