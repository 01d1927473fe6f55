#include "learn/optimizers/adastar.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "learn/moments.h"
#include "learn/transforms/clip_by_block_rms.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"

namespace axle {

AdaStar::AdaStar(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg),
      params_(dims.params),
      descent_({.learning_rate = cfg.learning_rate,
                .update_schedule = &cfg.update_schedule,
                .weight_decay = cfg.weight_decay,
                .decay_factor = cfg.decay_factor,
                .weight_decay_scales = cfg.weight_decay_scales},
               params_, scope) {
  if (cfg.eps == 0 && cfg.eps_square == 0) {
    throw ConfigError(fmt::format("{}: expected a number above 0 here or in eps_square, got two 0",
                                  field_path(scope, "eps")));
  }
}

Tree<ParamSpec> AdaStar::state_specs() const {
  Tree<ParamSpec> specs = zero_state_specs(params_, "v");
  if (cfg_.gradient_mean) specs.merge(zero_state_specs(params_, "m"));
  if (cfg_.update_mean) specs.merge(zero_state_specs(params_, "u"));
  return specs;
}

UpdateOutputs AdaStar::update(const UpdateInputs& in) const {
  const Tensor t = astype(in.step, DType::kF32);
  const Descent::Factors factors = descent_.at(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", factors.rate}}};
  // Returns the mean of the state `name` after this x.
  const auto averaged = [&](const std::optional<MovingMean>& mean, const std::string& name,
                            const Tensor& x) {
    if (!mean) return x;
    const Tensor next = moving_mean(mean->decay, in.state.at(name), x);
    out.state.emplace(name, next);
    return mean->debias == Debias::kYes ? next * bias_correction(mean->decay, t) : next;
  };
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor g = astype(gradient, DType::kF32);
    const Tensor v = averaged(cfg_.square_mean, "v/" + path, square(g) + cfg_.eps_square);
    Tensor u = averaged(cfg_.gradient_mean, "m/" + path, g) / (sqrt(v) + cfg_.eps);
    if (cfg_.max_rms) u = clipped_by_block_rms(u, params_.at(path), *cfg_.max_rms);
    u = averaged(cfg_.update_mean, "u/" + path, u);
    out.updates.emplace(path, descent_.along(u, path, in.params.at(path), factors));
  }
  return out;
}

Tree<UpdateSize> AdaStar::update_sizes() const {
  return update_sizes_of(params_, UpdateKind::kElements);
}

AXLE_REGISTER(MovingMean)
AXLE_REGISTER(AdaStar)

}  // namespace axle
