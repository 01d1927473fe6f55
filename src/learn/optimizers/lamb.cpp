#include "learn/optimizers/lamb.h"

#include "config/register.h"
#include "learn/moments.h"
#include "learn/param_matrices.h"
#include "learn/transforms/trust_ratio.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"

namespace axle {

Lamb::Lamb(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg), params_(dims.params) {
  check_schedule(cfg.learning_rate, field_path(scope, "learning_rate"));
  decay_ = axle::weight_decay_scales(params_, cfg.weight_decay_scales,
                                     field_path(scope, "weight_decay_scales"));
  for (auto& [path, decay] : decay_) decay *= cfg.weight_decay;
}

Tree<ParamSpec> Lamb::state_specs() const { return moment_specs(params_); }

UpdateOutputs Lamb::update(const UpdateInputs& in) const {
  const Tensor t = astype(in.step, DType::kF32);
  const Tensor m_correction = bias_correction(cfg_.b1, t);
  const Tensor v_correction = bias_correction(cfg_.b2, t);
  const Tensor rate = cfg_.learning_rate(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", rate}}};
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor g = astype(gradient, DType::kF32);
    const Tensor m = moving_mean(cfg_.b1, in.state.at("m/" + path), g);
    const Tensor v = moving_mean(cfg_.b2, in.state.at("v/" + path), square(g));
    const Tensor param = astype(in.params.at(path), DType::kF32);
    Tensor u = m * m_correction / (sqrt(v * v_correction) + cfg_.eps);
    if (const double decay = decay_.at(path); decay != 0) u = u + decay * param;
    out.updates.emplace(path, u * (trust_ratio(param, u, params_.at(path)) * -rate));
    out.state.emplace("m/" + path, m);
    out.state.emplace("v/" + path, v);
  }
  return out;
}

Tree<UpdateSize> Lamb::update_sizes() const {
  return update_sizes_of(params_, UpdateKind::kParameter);
}

AXLE_REGISTER(Lamb)

}  // namespace axle
