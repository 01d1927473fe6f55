#include "learn/inner_optimizer.h"

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
      optimizer_(config.build_part({params_}, scope)) {}

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

}  // namespace axle
