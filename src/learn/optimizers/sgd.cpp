#include "learn/optimizers/sgd.h"

#include "config/register.h"
#include "learn/stateful_update.h"
#include "ops/elementwise/elementwise.h"

namespace axle {

Sgd::Sgd(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg), params_(dims.params) {
  check_schedule(cfg.learning_rate, field_path(scope, "learning_rate"));
  decay_ = axle::weight_decay_scales(params_, cfg.weight_decay_scales,
                                     field_path(scope, "weight_decay_scales"));
  for (auto& [path, decay] : decay_) decay *= cfg.weight_decay;
}

Tree<ParamSpec> Sgd::state_specs() const {
  return cfg_.momentum == 0 ? Tree<ParamSpec>{} : zero_state_specs(params_, "m");
}

UpdateOutputs Sgd::update(const UpdateInputs& in) const {
  const Tensor rate = cfg_.learning_rate(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", rate}}};
  for (const auto& [path, gradient] : in.gradients) {
    Tensor direction = astype(gradient, DType::kF32);
    if (cfg_.momentum != 0) {
      direction = direction + cfg_.momentum * in.state.at("m/" + path);
      out.state.emplace("m/" + path, direction);
    }
    if (const double decay = decay_.at(path); decay != 0) {
      direction = direction + decay * astype(in.params.at(path), DType::kF32);
    }
    out.updates.emplace(path, direction * -rate);
  }
  return out;
}

Tree<UpdateSize> Sgd::update_sizes() const {
  return update_sizes_of(params_, UpdateKind::kGradient);
}

AXLE_REGISTER(Sgd)

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
