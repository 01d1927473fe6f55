#include "learn/optimizers/adam.h"

#include "config/register.h"
#include "learn/moments.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"

namespace axle {

Adam::Adam(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg), params_(dims.params) {
  check_schedule(cfg.learning_rate, field_path(scope, "learning_rate"));
  l2_ = weight_decay_scales(params_, cfg.l2_scales, field_path(scope, "l2_scales"));
  for (auto& [path, l2] : l2_) l2 *= cfg.l2;
}

Tree<ParamSpec> Adam::state_specs() const { return moment_specs(params_); }

UpdateOutputs Adam::update(const UpdateInputs& in) const {
  const Tensor t = astype(in.step, DType::kF32);
  const Tensor m_correction = bias_correction(cfg_.b1, t);
  const Tensor v_correction = bias_correction(cfg_.b2, t);
  const Tensor rate = cfg_.learning_rate(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", rate}}};
  for (const auto& [path, gradient] : in.gradients) {
    Tensor g = astype(gradient, DType::kF32);
    if (const double l2 = l2_.at(path); l2 != 0)
      g = g + l2 * astype(in.params.at(path), DType::kF32);
    const Tensor m = moving_mean(cfg_.b1, in.state.at("m/" + path), g);
    const Tensor v = moving_mean(cfg_.b2, in.state.at("v/" + path), square(g));
    out.updates.emplace(path, m * (-m_correction * rate) / (sqrt(v * v_correction) + cfg_.eps));
    out.state.emplace("m/" + path, m);
    out.state.emplace("v/" + path, v);
  }
  return out;
}

Tree<UpdateSize> Adam::update_sizes() const {
  return update_sizes_of(params_, UpdateKind::kElements);
}

AXLE_REGISTER(Adam)

}  // namespace axle
