#include "learn/learner.h"

#include <fmt/format.h>

#include "base/class_call.h"
#include "base/text/text.h"
#include "config/construction.h"
#include "config/register.h"
#include "learn/optimizer_groups.h"
#include "learn/weight_decay.h"
#include "nn/init_rules.h"
#include "ops/elementwise/elementwise.h"

namespace axle {

Tensor EmaDecay::operator()(const Step& step) const {
  const Tensor t = astype(step, DType::kF32);
  return select(t < double(warmup_steps), t / (t + 1.0), decay);
}

Tree<Tensor> update_ema(const ParamEma& ema, const Tree<Tensor>& average,
                        const Tree<Tensor>& params, const Tensor& step) {
  const Tensor decay = ema.decay(step);
  Tree<Tensor> out;
  for (const auto& [path, old] : average) {
    const Tensor param = astype(params.at(path), DType::kF32);
    out.emplace(path, decay * old + (1.0 - decay) * param);
  }
  return out;
}

AXLE_REGISTER(ParamEma)
AXLE_REGISTER(EmaDecay)

namespace {

constexpr std::string_view kOptimizer = "optimizer", kTransforms = "transforms",
                           kUpdateTransforms = "update_transforms", kEma = "ema";

std::string element_path(std::string_view list, size_t i) { return fmt::format("{}/{}", list, i); }

// Returns the path in the config of a part: "learner.transforms.0".
std::string config_path(const std::string& path) { return "learner." + dotted(path); }

Tree<Tensor> added(const Tree<Tensor>& params, const Tree<Tensor>& updates) {
  Tree<Tensor> out = params;
  for (const auto& [path, update] : updates) {
    Tensor& param = out.at(path);
    param = astype(astype(param, DType::kF32) + update, param.dtype());
  }
  return out;
}

// Calls fn(state path, transform) for each transform of the two lists.
template <class List, class F>
void each_transform(const List& before, const List& after, F&& fn) {
  for (size_t i = 0; i < before.size(); ++i) fn(element_path(kTransforms, i), *before[i]);
  for (size_t i = 0; i < after.size(); ++i) fn(element_path(kUpdateTransforms, i), *after[i]);
}

}  // namespace

Learner::Learner(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg), params_(dims.params) {
  trained_ = without_frozen(scope);
  attempt(scope,
          [&] { exempt_from_decay(trained_, cfg_.undecayed, field_path(scope, "undecayed")); });
  if (dims.run_steps) set_schedule_ends(cfg_, *dims.run_steps);
  optimizer_ = cfg_.optimizer.build({trained_}, part_scope(scope, kOptimizer));
  Tree<ParamSpec> frozen;
  for (const auto& [path, spec] : params_)
    if (!trained_.contains(path)) frozen.emplace(path, spec);
  const auto build = [&](const std::vector<Child<GradientTransform>>& configs,
                         std::string_view list) {
    Transforms out;
    for (size_t i = 0; i < configs.size(); ++i) {
      const std::string field = fmt::format("{}[{}]", list, i);
      out.push_back(configs[i].build({trained_, frozen}, part_scope(scope, field)));
    }
    return out;
  };
  transforms_ = build(cfg_.transforms, kTransforms);
  update_transforms_ = build(cfg_.update_transforms, kUpdateTransforms);
  attempt(scope, [&] {
    if (cfg_.ema)
      check_schedule(cfg_.ema->decay, field_path(scope, "ema.decay"), Fraction::kBounds);
  });
}

Tree<ParamSpec> Learner::without_frozen(const Scope& scope) const {
  const std::string frozen = field_path(scope, "frozen");
  std::set<std::string, std::less<>> kept;
  Tree<ParamSpec> rest = params_;
  // Whole numbers, such as the codes of weights, have no gradient.
  std::erase_if(rest,
                [](const auto& param) { return !is_differentiable(param.second.type().dtype); });
  attempt(scope,
          [&] { kept = matching_paths(params_, cfg_.trained, field_path(scope, "trained")); });
  const auto first = [](const auto& param) -> const std::string& { return param.first; };
  attempt(scope, [&] {
    const auto matched = matching_paths(params_, cfg_.frozen, frozen);
    for (const std::string& pattern : cfg_.trained) {
      const auto excepts = [&](const std::string& path) { return matches_path(pattern, path); };
      // Patterns that match nothing at all are reported above.
      if (std::ranges::any_of(matched, excepts) || std::ranges::none_of(params_, excepts, first))
        continue;
      throw ConfigError(
          fmt::format("{}: expected patterns of parameters that {} matches, got '{}', "
                      "which names none of them; take it out, or freeze more",
                      field_path(scope, "trained"), frozen, pattern));
    }
    for (const std::string& path : matched) {
      if (!kept.contains(path)) rest.erase(path);
    }
    if (!rest.empty() || params_.empty()) return;
    throw ConfigError(fmt::format(
        "{}: expected parameters that are left to train, got patterns that match all {}", frozen,
        params_.size()));
  });
  return rest;
}

int64_t fewest_microbatches(int64_t rows, int64_t num_shares, int64_t device_rows) {
  if ((rows - 1) / num_shares < device_rows) return 1;
  const int64_t most = num_shares * device_rows;
  const auto fewest = [&](int64_t multiple) -> int64_t {
    for (int64_t n = 1; n <= rows; ++n) {
      if (rows % n == 0 && rows / n <= most && rows / n % multiple == 0) return n;
    }
    return 0;
  };
  if (const int64_t even = fewest(num_shares)) return even;
  return fewest(1);
}

int64_t Learner::microbatches(int64_t rows, int64_t num_shares) const {
  return cfg_.microbatches > 1 ? int64_t{cfg_.microbatches}
                               : evaluated_microbatches(rows, num_shares);
}

int64_t Learner::evaluated_microbatches(int64_t rows, int64_t num_shares) const {
  return cfg_.device_rows ? fewest_microbatches(rows, num_shares, *cfg_.device_rows) : 1;
}

Tree<ParamSpec> Learner::state_specs() const {
  Tree<ParamSpec> specs;
  specs.emplace("count", ParamSpec{.init = Zeros{}, .dtype = DType::kI32});
  put_subtree(specs, kOptimizer, optimizer_->state_specs());
  each_transform(transforms_, update_transforms_,
                 [&](const std::string& path, const GradientTransform& transform) {
                   put_subtree(specs, path, transform.state_specs());
                 });
  if (cfg_.ema) specs.merge(zero_state_specs(params_, kEma));
  return specs;
}

Tree<Tensor> Learner::initialize(const Tree<Tensor>& params) const {
  const NameScope scope("learner");
  const Tree<Tensor> trained = only(params, trained_);
  Tree<Tensor> state;
  state.emplace("count", state_specs().at("count").initialiser().draw({}));
  put_subtree(state, kOptimizer, checked_initialize(*optimizer_, trained, "learner.optimizer"));
  each_transform(transforms_, update_transforms_,
                 [&](const std::string& path, const GradientTransform& transform) {
                   put_subtree(state, path,
                               checked_initialize(transform, trained, config_path(path)));
                 });
  if (cfg_.ema) {
    for (const auto& [path, param] : params) {
      state.emplace(join_path(kEma, path), astype(param, DType::kF32));
    }
  }
  return state;
}

Tree<Tensor> Learner::gradient_point(const Tree<Tensor>& params, const Tree<Tensor>& state) const {
  const NameScope scope("learner");
  const ClassCall call(typeid(*optimizer_), "learner.optimizer");
  Tree<Tensor> out = params;
  for (auto& [path, point] :
       optimizer_->gradient_point(only(params, trained_), subtree(state, kOptimizer))) {
    out.at(path) = astype(point, params.at(path).dtype());
  }
  return out;
}

Tree<Tensor> Learner::measure(const MeasureInputs& in) const {
  const NameScope scope("learner");
  const ClassCall call(typeid(*optimizer_), "learner.optimizer");
  const Tree<Tensor> state = subtree(in.state, kOptimizer);
  return optimizer_->measure({in.objective, in.params, state, in.state.at("count") + 1.0, in.key});
}

LearnerOutputs Learner::apply(const LearnerInputs& in) const {
  const NameScope scope("learner");
  const Tensor step = in.state.at("count") + 1.0;
  const Tree<Tensor> params = only(in.params, trained_);
  Tree<Tensor> changes = only(in.gradients, trained_);
  const Tensor gradient_norm = in.gradient_norm ? in.gradient_norm : global_norm(changes);

  LearnerOutputs out{.metrics = {{"grad_norm", gradient_norm}}};
  out.state.emplace("count", step);
  Tensor norm = gradient_norm;
  const auto pass = [&](const std::string& path, const StatefulUpdate& stage,
                        const Tree<Tensor>& measured) {
    const Tree<Tensor> state = subtree(in.state, path);
    UpdateOutputs done =
        checked_update(stage, {changes, params, state, step, norm, measured}, config_path(path));
    changes = std::move(done.updates);
    norm = {};  // unknown, since this stage changed them
    put_subtree(out.state, path, std::move(done.state));
    out.metrics.merge(std::move(done.metrics));
  };
  for (size_t i = 0; i < transforms_.size(); ++i)
    pass(element_path(kTransforms, i), *transforms_[i], {});
  pass(std::string(kOptimizer), *optimizer_, in.measured);
  for (size_t i = 0; i < update_transforms_.size(); ++i)
    pass(element_path(kUpdateTransforms, i), *update_transforms_[i], {});

  out.params = added(in.params, changes);
  if (cfg_.ema) {
    put_subtree(out.state, kEma, update_ema(*cfg_.ema, subtree(in.state, kEma), out.params, step));
  }
  if (cfg_.norms == NormMetrics::kAll) {
    out.metrics.emplace("param_norm", global_norm(out.params));
    out.metrics.emplace("update_norm", global_norm(changes));
  }
  return out;
}

AXLE_REGISTER(Learner)

}  // namespace axle
