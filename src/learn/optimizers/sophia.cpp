#include "learn/optimizers/sophia.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "learn/stateful_update.h"
#include "nn/tensor_tree.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"

namespace axle {
namespace {

Tree<Tensor> gauss_newton(const MeasureInputs& in) {
  const Objective::Sampled drawn = in.objective.sampled_gradient(in.params, in.key);
  Tree<Tensor> out;
  for (const auto& [path, g] : drawn.gradient)
    out.emplace(path, drawn.num_targets * square(astype(g, DType::kF32)));
  return out;
}

Tree<Tensor> hutchinson(const MeasureInputs& in) {
  Tree<Tensor> at = in.params, direction = in.params;
  uint32_t index = 0;
  for (auto& [path, u] : direction)
    u = random::normal(random::fold_in(in.key, index++), u.shape(), u.dtype());
  const auto gradient = [&](const Values& values) {
    auto next = values.begin();
    replace_tensors(at, next);
    Tree<Tensor> out = in.objective.gradient(at);
    return tensors_of(out);
  };
  Tree<Tensor> params = in.params;
  const Values curved = jvp(gradient, tensors_of(params), tensors_of(direction)).second;
  Tree<Tensor> out = direction;
  auto next = curved.begin();
  for (auto& [path, u] : out) {
    const Tensor& hessian_u = *next++;
    u = hessian_u ? astype(u * hessian_u, DType::kF32) : zeros(u.shape());
  }
  return out;
}

}  // namespace

Sophia::Sophia(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg),
      params_(dims.params),
      descent_({.learning_rate = cfg.learning_rate,
                .weight_decay = cfg.weight_decay,
                .decay_factor = cfg.decay_factor,
                .weight_decay_scales = cfg.weight_decay_scales},
               params_, scope),
      path_(scope.path) {}

Tree<ParamSpec> Sophia::state_specs() const {
  Tree<ParamSpec> specs = zero_state_specs(params_, "m");
  specs.merge(zero_state_specs(params_, "h"));
  return specs;
}

Tensor Sophia::is_due(const Tensor& step) const {
  return equal(remainder(step - 1, full_like(step, int64_t{cfg_.every_steps})), zeros_like(step));
}

Tree<Tensor> Sophia::measure(const MeasureInputs& in) const {
  const auto estimate = [&](const Values&) {
    Tree<Tensor> out = cfg_.curvature == Curvature::kHutchinson ? hutchinson(in) : gauss_newton(in);
    return tensors_of(out);
  };
  const auto none = [&](const Values&) {
    Values out;
    for (const auto& [path, spec] : params_) out.push_back(zeros(spec.shape));
    return out;
  };
  const Values diagonal = cond(is_due(in.step), estimate, none, {});
  Tree<Tensor> out;
  auto at = diagonal.begin();
  for (const auto& [path, spec] : params_) out.emplace_hint(out.end(), path, *at++);
  return out;
}

UpdateOutputs Sophia::update(const UpdateInputs& in) const {
  if (in.measured.empty() && !params_.empty()) {
    throw ConfigError(fmt::format(
        "{}: expected an objective to evaluate again, got gradients alone; use it in training",
        path_));
  }
  const Descent::Factors factors = descent_.at(in.step);
  const Tensor due = is_due(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", factors.rate}}};
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor m = moving_mean(cfg_.b1, in.state.at("m/" + path), astype(gradient, DType::kF32));
    const Tensor& old = in.state.at("h/" + path);
    const Tensor h = select(due, moving_mean(cfg_.b2, old, in.measured.at(path)), old);
    const Tensor direction = clamp(-1, m / maximum(h * double{cfg_.gamma}, cfg_.eps), 1);
    out.updates.emplace(path, descent_.along(direction, path, in.params.at(path), factors));
    out.state.emplace("m/" + path, m);
    out.state.emplace("h/" + path, h);
  }
  return out;
}

AXLE_REGISTER(Sophia)

}  // namespace axle
