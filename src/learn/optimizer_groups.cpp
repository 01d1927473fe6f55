#include "learn/optimizer_groups.h"

#include <fmt/format.h>

#include "config/carry.h"
#include "config/construction.h"
#include "config/register.h"
#include "learn/weight_decay.h"

namespace axle {

Tree<Tensor> only(const Tree<Tensor>& tree, const Tree<ParamSpec>& wanted) {
  Tree<Tensor> out;
  for (const auto& [path, spec] : wanted) out.emplace_hint(out.end(), path, tree.at(path));
  return out;
}

InnerOptimizer::InnerOptimizer(const Child<Optimizer>& config, std::string name,
                               Tree<ParamSpec> params, const Scope& scope)
    : name_(std::move(name)),
      params_(std::move(params)),
      optimizer_(config.build({params_}, scope)) {}

void InnerOptimizer::add_state_specs(Tree<ParamSpec>& specs) const {
  put_subtree(specs, name_, optimizer_->state_specs());
}

void InnerOptimizer::add_state(const Tree<Tensor>& params, Tree<Tensor>& state) const {
  put_subtree(state, name_, checked_initialize(*optimizer_, only(params, params_), name_));
}

void InnerOptimizer::move_to_gradient_point(Tree<Tensor>& params, const Tree<Tensor>& state) const {
  for (auto& [path, point] :
       optimizer_->gradient_point(only(params, params_), subtree(state, name_)))
    params.at(path) = point;
}

void InnerOptimizer::add_measured(const MeasureInputs& in, Tree<Tensor>& measured) const {
  const Tree<Tensor> params = only(in.params, params_), state = subtree(in.state, name_);
  put_subtree(measured, name_, optimizer_->measure({in.objective, params, state, in.step, in.key}));
}

void InnerOptimizer::add_update(const UpdateInputs& in, std::string_view suffix,
                                UpdateOutputs& out) const {
  const Tree<Tensor> gradients = only(in.gradients, params_), params = only(in.params, params_),
                     state = subtree(in.state, name_);
  UpdateOutputs done = checked_update(
      *optimizer_,
      {gradients, params, state, in.step, /*gradient_norm=*/{}, subtree(in.measured, name_)},
      name_);
  out.updates.merge(std::move(done.updates));
  put_subtree(out.state, name_, std::move(done.state));
  for (auto& [metric, value] : done.metrics)
    out.metrics.emplace(join_path(metric, suffix), std::move(value));
}

OptimizerGroups::OptimizerGroups(const Config& cfg, const Dims& dims, const Scope& scope) {
  Tree<ParamSpec> rest = dims.params;
  Tree<std::string> group_of;
  for (const auto& entry : cfg.groups) {
    const std::string& name = entry.first;
    const auto& group = entry.second;
    const Scope at = part_scope(scope, "groups." + name);
    Tree<ParamSpec> params;
    const bool is_good = attempt(scope, [&] {
      const std::string where = field_path(at, "params");
      if (group.params.empty())
        throw ConfigError(fmt::format("{}: expected at least one pattern, got none", where));
      for (const std::string& path : matching_paths(dims.params, group.params, where)) {
        const auto [first, fresh] = group_of.emplace(path, name);
        if (!fresh) {
          throw ConfigError(fmt::format("{}: expected parameters of no other group, got {} of {}",
                                        where, path, first->second));
        }
        params.emplace(path, dims.params.at(path));
        rest.erase(path);
      }
    });
    if (!is_good) rest.clear();  // what the group does not take is unknown
    parts_.push_back({InnerOptimizer(group.optimizer, "groups/" + name, std::move(params),
                                     part_scope(at, "optimizer")),
                      name});
  }
  if (cfg.others) {
    parts_.push_back(
        {InnerOptimizer(*cfg.others, "others", std::move(rest), part_scope(scope, "others")), ""});
  } else if (!rest.empty()) {
    throw ConfigError(
        fmt::format("{}: expected an optimizer for parameters of no group, got none; {} is one",
                    field_path(scope, "others"), rest.begin()->first));
  }
}

Tree<ParamSpec> OptimizerGroups::state_specs() const {
  Tree<ParamSpec> specs;
  for (const Part& part : parts_) part.optimizer.add_state_specs(specs);
  return specs;
}

Tree<Tensor> OptimizerGroups::initialize(const Tree<Tensor>& params) const {
  Tree<Tensor> state;
  for (const Part& part : parts_) part.optimizer.add_state(params, state);
  return state;
}

Tree<Tensor> OptimizerGroups::gradient_point(const Tree<Tensor>& params,
                                             const Tree<Tensor>& state) const {
  Tree<Tensor> out = params;
  for (const Part& part : parts_) part.optimizer.move_to_gradient_point(out, state);
  return out;
}

Tree<Tensor> OptimizerGroups::measure(const MeasureInputs& in) const {
  Tree<Tensor> out;
  for (const Part& part : parts_) part.optimizer.add_measured(in, out);
  return out;
}

UpdateOutputs OptimizerGroups::update(const UpdateInputs& in) const {
  UpdateOutputs out;
  for (const Part& part : parts_) part.optimizer.add_update(in, part.metric_suffix, out);
  return out;
}

Tree<UpdateSize> OptimizerGroups::update_sizes() const {
  Tree<UpdateSize> out;
  for (const Part& part : parts_) part.optimizer.add_update_sizes(out);
  return out;
}

const CarryRule kOptimizerGroupsCarry(typeid(OptimizerGroups), "others", nullptr);

AXLE_REGISTER(OptimizerGroup)
AXLE_REGISTER(OptimizerGroups)

}  // namespace axle
