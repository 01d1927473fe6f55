#include "learn/learner.h"

#include <fmt/format.h>

#include "base/tree.h"
#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"

namespace axle {
namespace {

std::string transform_path(size_t i) { return fmt::format("transforms/{}", i); }

Tree<Tensor> added(const Tree<Tensor>& params, const Tree<Tensor>& updates) {
  Tree<Tensor> out;
  for (const auto& [path, param] : params) {
    out.emplace(path, astype(astype(param, DType::kF32) + updates.at(path), param.dtype()));
  }
  return out;
}

}  // namespace

Learner::Learner(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg), params_(dims.params) {
  if (dims.run_steps) set_schedule_ends(cfg_, *dims.run_steps);
  const auto inner = [&](std::string_view name) { return Scope{.path = field_path(scope, name)}; };
  optimizer_ = cfg_.optimizer.build({params_}, inner("optimizer"));
  for (size_t i = 0; i < cfg_.transforms.size(); ++i) {
    transforms_.push_back(
        cfg_.transforms[i].build({params_}, inner(fmt::format("transforms[{}]", i))));
  }
  if (cfg_.ema) check_schedule(cfg_.ema->decay, field_path(scope, "ema.decay"), Fraction::kBounds);
}

Tree<ParamSpec> Learner::state_specs() const {
  Tree<ParamSpec> specs;
  specs.emplace("count", ParamSpec{.init = Zeros{}, .dtype = DType::kI32});
  put_subtree(specs, "optimizer", optimizer_->state_specs());
  for (size_t i = 0; i < transforms_.size(); ++i) {
    put_subtree(specs, transform_path(i), transforms_[i]->state_specs());
  }
  if (cfg_.ema) specs.merge(zero_state_specs(params_, "ema"));
  return specs;
}

Tree<Tensor> Learner::initialize(const Tree<Tensor>& params) const {
  const NameScope scope("learner");
  Tree<Tensor> state;
  state.emplace("count", state_specs().at("count").initialiser().draw({}));
  put_subtree(state, "optimizer", optimizer_->initialize(params));
  for (size_t i = 0; i < transforms_.size(); ++i) {
    put_subtree(state, transform_path(i), transforms_[i]->initialize(params));
  }
  if (cfg_.ema) {
    for (const auto& [path, param] : params) {
      state.emplace(join_path("ema", path), astype(param, DType::kF32));
    }
  }
  return state;
}

LearnerOutputs Learner::apply(const LearnerInputs& in) const {
  const NameScope scope("learner");
  const Tensor step = in.state.at("count") + 1.0;
  const Tensor gradient_norm = in.gradient_norm ? in.gradient_norm : global_norm(in.gradients);

  LearnerOutputs out;
  out.state.emplace("count", step);
  Tree<Tensor> gradients = in.gradients;
  Tensor norm = gradient_norm;
  for (size_t i = 0; i < transforms_.size(); ++i) {
    const Tree<Tensor> state = subtree(in.state, transform_path(i));
    UpdateOutputs done = transforms_[i]->update({gradients, in.params, state, step, norm});
    gradients = std::move(done.updates);
    norm = {};  // unknown, since the transform changed the gradients
    put_subtree(out.state, transform_path(i), std::move(done.state));
  }
  const Tree<Tensor> state = subtree(in.state, "optimizer");
  UpdateOutputs done = optimizer_->update({gradients, in.params, state, step, norm});
  put_subtree(out.state, "optimizer", std::move(done.state));
  out.params = added(in.params, done.updates);
  if (cfg_.ema) {
    put_subtree(out.state, "ema",
                update_ema(*cfg_.ema, subtree(in.state, "ema"), out.params, step));
  }

  out.metrics = {{"grad_norm", gradient_norm}, {"learning_rate", optimizer_->learning_rate(step)}};
  if (cfg_.norms == NormMetrics::kAll) {
    out.metrics.emplace("param_norm", global_norm(out.params));
    out.metrics.emplace("update_norm", global_norm(done.updates));
  }
  return out;
}

AXLE_REGISTER(Learner)

}  // namespace axle
