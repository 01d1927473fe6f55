#include "layers/experts/expert_projections.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/batching.h"
#include "ops/create.h"
#include "ops/dims.h"
#include "ops/movement/broadcast.h"
#include "ops/random/random.h"
#include "ops/reductions/reduce.h"
#include "transform/custom_vjp.h"
#include "transform/ragged_map.h"
#include "transform/vmap.h"

namespace axle {
namespace {

// Returns a copy of the state for each part of a batch. The gradient of the state is the largest
// one of the copies.
Tensor parts_of_gradient(const Tensor& state, int64_t num_parts) {
  const CustomVjp rule{
      .name = "parts_of_gradient",
      .forward =
          [num_parts](const Values& x) {
            const Shape& shape = x[0].shape();
            return WithResiduals{{broadcast_in_dim(x[0], prepended(num_parts, shape),
                                                   axis_range(1, std::ssize(shape) + 1))},
                                 {}};
          },
      .backward = [](const Values&, const Values& g) { return Values{reduce_max(g[0], {0})}; }};
  return custom_vjp(rule, {state})[0];
}

}  // namespace

ExpertProjections::ExpertProjections(Handle<Projection> one, int64_t num_experts)
    : one_(std::move(one)), num_experts_(num_experts) {}

Tree<ParamSpec> ExpertProjections::param_specs() const {
  Tree<ParamSpec> specs = one_->param_specs();
  for (auto& [path, spec] : specs) {
    for (DimAxes& axes : spec.mesh_axes) std::erase(axes, "expert");
    spec.shape.insert(spec.shape.begin(), num_experts_);
    spec.mesh_axes.insert(spec.mesh_axes.begin(), "expert");
    spec.fan.batch.push_back(-static_cast<int64_t>(spec.shape.size()));
  }
  return specs;
}

Tree<Tensor> ExpertProjections::initialize(const random::Key& key) const {
  std::vector<std::string> paths;
  const Values drawn = vmap(
      [&](const Values& keys) {
        paths.clear();
        Values out;
        for (const auto& [path, value] : one_->initialize(random::Key::wrap(keys[0], key.impl()))) {
          paths.push_back(path);
          out.push_back(value);
        }
        return out;
      },
      {random::split(key, num_experts_).data()});
  Tree<Tensor> out;
  for (size_t i = 0; i < paths.size(); ++i) out.emplace(paths[i], drawn[i]);
  return out;
}

ExpertProjections::StateOfCalls ExpertProjections::state_of_calls() const {
  const InvocationOptions options = Invocation::current().nested_options();
  StateOfCalls out;
  for (const auto& [path, spec] : one_->state_specs()) {
    if (!options.state.contains(path)) continue;  // whoever reads it says that it is missing
    (spec.update == StateUpdate::kGradient ? out.gradients : out.others).push_back(path);
  }
  return out;
}

TensorFunction ExpertProjections::one_call(StateOfCalls& state) const {
  Invocation& outer = Invocation::current();
  InvocationOptions options = outer.nested_options();
  options.summaries = false;
  options.segment_ids = std::nullopt;  // the tokens lie in the order of their experts
  return [this, options, root = outer.path(), &state](const Values& values) {
    InvocationOptions own = options;
    if (own.key) own.key = random::fold_in(own.key, values[1]);
    Tree<Tensor> parameters;
    auto at = values.begin() + 2;
    for (const std::string& path : state.gradients) own.state.at(path) = *at++;
    for (const auto& [path, spec] : one_->param_specs()) parameters.emplace(path, *at++);
    Invocation inner(root, std::move(parameters), std::move(own));
    Values out{one_(values[0])};
    const OutputCollection& collected = inner.collection();
    if (!collected.aux_losses.empty()) {
      throw ConfigError(fmt::format("{}: expected a projection without aux losses, got {}",
                                    one_->config_path(), collected.aux_losses.begin()->first));
    }
    for (const std::string& path : state.others) {
      const auto set = collected.state.find(path);
      if (set != collected.state.end()) state.set.insert(path);
      out.push_back(set != collected.state.end() ? set->second : options.state.at(path));
    }
    return out;
  };
}

Tensor ExpertProjections::operator()(const Tensor& x, const std::optional<Tensor>& sizes_E) const {
  Invocation& outer = Invocation::current();
  StateOfCalls state = state_of_calls();
  const Tree<ParamSpec> state_specs = one_->state_specs();
  Values arguments{x, iota({x.dim(0)}, 0, DType::kU32)}, parameters;
  const InvocationOptions options = outer.nested_options();
  for (const std::string& path : state.gradients)
    arguments.push_back(parts_of_gradient(options.state.at(path), x.dim(0)));
  for (const auto& [path, spec] : one_->param_specs()) parameters.push_back(outer.parameter(path));

  const auto is_maximum = [&](const std::string& path) {
    return state_specs.at(path).update == StateUpdate::kMaximum;
  };
  Values results;
  if (sizes_E) {
    std::vector<RowResult> kinds{RowResult::kEach};
    for (const std::string& path : state.others)
      kinds.push_back(is_maximum(path) ? RowResult::kMaximum : RowResult::kSame);
    results = ragged_map(one_call(state), arguments, parameters, *sizes_E, kinds);
  } else {
    VmapOptions axes{.out_axes = {0}};
    for (const std::string& path : state.others)
      axes.out_axes.push_back(is_maximum(path) ? std::optional<int64_t>(0) : std::nullopt);
    arguments.insert(arguments.end(), parameters.begin(), parameters.end());
    results = vmap(one_call(state), arguments, axes);
    for (size_t i = 0; i < state.others.size(); ++i) {
      if (is_maximum(state.others[i])) results[i + 1] = reduce_max(results[i + 1], {0});
    }
  }
  for (size_t i = 0; i < state.others.size(); ++i) {
    if (state.set.contains(state.others[i]))
      outer.collection().state.insert_or_assign(state.others[i], results[i + 1]);
  }
  return results[0];
}

}  // namespace axle
