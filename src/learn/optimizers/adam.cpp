#include "learn/optimizers/adam.h"

#include "config/register.h"
#include "learn/matrix_split.h"
#include "learn/stateful_update.h"
#include "learn/transforms/gradient_transforms.h"
#include "ops/elementwise/elementwise.h"

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
