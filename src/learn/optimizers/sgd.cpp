#include "learn/optimizers/sgd.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"

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

}  // namespace axle
