#include "layers/experts/expert_projections.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/create.h"
#include "ops/random/random.h"
#include "transform/ragged_map.h"
#include "transform/vmap.h"

namespace axle {

ExpertProjections::ExpertProjections(Handle<Projection> one, int64_t num_experts)
    : one_(std::move(one)), num_experts_(num_experts) {
  if (one_->state_specs().empty()) return;
  throw ConfigError(fmt::format("{}: expected a projection without state in training, got {}",
                                one_->config_path(), one_->state_specs().begin()->first));
}

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

TensorFunction ExpertProjections::one_call() const {
  Invocation& outer = Invocation::current();
  InvocationOptions options = outer.nested_options();
  options.summaries = false;
  options.state.clear();
  return [this, options, root = outer.path()](const Values& values) {
    InvocationOptions own = options;
    if (own.key) own.key = random::fold_in(own.key, values[1]);
    Tree<Tensor> parameters;
    auto at = values.begin() + 2;
    for (const auto& [path, spec] : one_->param_specs()) parameters.emplace(path, *at++);
    Invocation inner(root, std::move(parameters), std::move(own));
    const Tensor y = one_(values[0]);
    if (!inner.collection().aux_losses.empty()) {
      throw ConfigError(fmt::format("{}: expected a projection without aux losses, got {}",
                                    one_->config_path(),
                                    inner.collection().aux_losses.begin()->first));
    }
    return Values{y};
  };
}

Tensor ExpertProjections::operator()(const Tensor& x, const std::optional<Tensor>& sizes_E) const {
  Values parameters;
  for (const auto& [path, spec] : one_->param_specs())
    parameters.push_back(Invocation::current().parameter(path));
  const Tensor number = iota({x.dim(0)}, 0, DType::kU32);
  if (sizes_E) return ragged_map(one_call(), {x, number}, parameters, *sizes_E)[0];
  Values arguments{x, number};
  arguments.insert(arguments.end(), parameters.begin(), parameters.end());
  return vmap(one_call(), arguments)[0];
}

}  // namespace axle
