#include "learn/optimizers/adamw.h"

#include "config/register.h"
#include "learn/moments.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"

namespace axle {

AdamW::AdamW(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg),
      params_(dims.params),
      descent_({.learning_rate = cfg.learning_rate,
                .update_schedule = &cfg.update_schedule,
                .weight_decay = cfg.weight_decay,
                .decay_factor = cfg.decay_factor,
                .weight_decay_scales = cfg.weight_decay_scales},
               params_, scope) {}

Tree<ParamSpec> AdamW::state_specs() const { return moment_specs(params_); }

UpdateOutputs AdamW::update(const UpdateInputs& in) const {
  const Tensor t = astype(in.step, DType::kF32);
  const Tensor m_correction = bias_correction(cfg_.b1, t);
  const Tensor v_correction = bias_correction(cfg_.b2, t);
  const Descent::Factors factors = descent_.at(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", factors.rate}}};
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor g = astype(gradient, DType::kF32);
    const Tensor m = moving_mean(cfg_.b1, in.state.at("m/" + path), g);
    const Tensor v = moving_mean(cfg_.b2, in.state.at("v/" + path), square(g));
    const Tensor update = m * (-m_correction * factors.rate) / (sqrt(v * v_correction) + cfg_.eps);
    out.updates.emplace(path, descent_.decayed(update, path, in.params.at(path), factors));
    out.state.emplace("m/" + path, m);
    out.state.emplace("v/" + path, v);
  }
  return out;
}

Tree<UpdateSize> AdamW::update_sizes() const {
  return update_sizes_of(params_, UpdateKind::kElements);
}

AXLE_REGISTER(AdamW)

}  // namespace axle
