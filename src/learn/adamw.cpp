#include "learn/adamw.h"

#include <fmt/format.h>

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"

namespace axle {
namespace {

// Returns 1 / (1 - b^t), without the cancellation for b near 1.
Tensor bias_correction(double b, const Tensor& t) {
  return b == 0 ? t / t : -1.0 / expm1(t * std::log(b));
}

}  // namespace

AdamW::AdamW(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg), params_(dims.params) {
  check_schedule(cfg.learning_rate, field_path(scope, "learning_rate"));
  check_schedule(cfg.update_schedule, field_path(scope, "update_schedule"));
  decay_ = axle::weight_decay_scales(params_, cfg.weight_decay_scales,
                                     field_path(scope, "weight_decay_scales"));
  for (auto& [path, decay] : decay_) decay *= cfg.weight_decay;
}

Tree<ParamSpec> AdamW::state_specs() const {
  Tree<ParamSpec> specs = zero_state_specs(params_, "m");
  specs.merge(zero_state_specs(params_, "v"));
  return specs;
}

Tensor AdamW::learning_rate(const Tensor& step) const {
  return cfg_.update_schedule(step) * cfg_.learning_rate(step);
}

UpdateOutputs AdamW::update(const UpdateInputs& in) const {
  const Tensor t = astype(in.step, DType::kF32);
  const Tensor m_correction = bias_correction(cfg_.b1, t);
  const Tensor v_correction = bias_correction(cfg_.b2, t);
  const Tensor rate = learning_rate(in.step);
  const Tensor decay_factor =
      cfg_.decay_factor == DecayFactor::kOne ? cfg_.update_schedule(in.step) : rate;
  UpdateOutputs out;
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor g = astype(gradient, DType::kF32);
    const Tensor m = cfg_.b1 * in.state.at("m/" + path) + (1 - cfg_.b1) * g;
    const Tensor v = cfg_.b2 * in.state.at("v/" + path) + (1 - cfg_.b2) * square(g);
    Tensor update = m * (-m_correction * rate) / (sqrt(v * v_correction) + cfg_.eps);
    if (const double decay = decay_.at(path); decay != 0) {
      update = update - astype(in.params.at(path), DType::kF32) * (decay_factor * decay);
    }
    out.updates.emplace(path, update);
    out.state.emplace("m/" + path, m);
    out.state.emplace("v/" + path, v);
  }
  return out;
}

AXLE_REGISTER(AdamW)

}  // namespace axle
