#include "learn/optimizers/lion.h"

#include "config/register.h"
#include "learn/moments.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/rounding.h"

namespace axle {

Lion::Lion(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg),
      params_(dims.params),
      descent_({.learning_rate = cfg.learning_rate,
                .weight_decay = cfg.weight_decay,
                .decay_factor = cfg.decay_factor,
                .weight_decay_scales = cfg.weight_decay_scales},
               params_, scope) {}

Tree<ParamSpec> Lion::state_specs() const { return zero_state_specs(params_, "m"); }

UpdateOutputs Lion::update(const UpdateInputs& in) const {
  const Descent::Factors factors = descent_.at(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", factors.rate}}};
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor g = astype(gradient, DType::kF32);
    const Tensor& m = in.state.at("m/" + path);
    out.updates.emplace(
        path, descent_.along(sign(moving_mean(cfg_.b1, m, g)), path, in.params.at(path), factors));
    out.state.emplace("m/" + path, moving_mean(cfg_.b2, m, g));
  }
  return out;
}

Tree<UpdateSize> Lion::update_sizes() const {
  return update_sizes_of(params_, UpdateKind::kElements);
}

AXLE_REGISTER(Lion)

}  // namespace axle
