// An optimizer inside another one, with some of its parameters.
#pragma once

#include <memory>
#include <string>

#include "learn/optimizer.h"

namespace axle {

/// Updates its own parameters by an optimizer. A call may pass all parameters: it takes its own,
/// and adds its results to the given trees. The optimizer's state and measurements lie below
/// `name`.
class InnerOptimizer {
 public:
  InnerOptimizer(const Child<Optimizer>& config, std::string name, Tree<ParamSpec> params,
                 const Scope& scope);

  const Tree<ParamSpec>& params() const { return params_; }
  const std::string& name() const { return name_; }

  void add_state_specs(Tree<ParamSpec>& specs) const;
  void add_state(const Tree<Tensor>& params, Tree<Tensor>& state) const;
  /// Replaces its own parameters among `params`.
  void move_to_gradient_point(Tree<Tensor>& params, const Tree<Tensor>& state) const;
  void add_measured(const MeasureInputs& in, Tree<Tensor>& measured) const;
  /// Adds the metrics as "<metric>/<suffix>", or under their own names if `suffix` is empty.
  void add_update(const UpdateInputs& in, std::string_view suffix, UpdateOutputs& out) const;
  void add_update_sizes(Tree<UpdateSize>& out) const { out.merge(optimizer_->update_sizes()); }

 private:
  std::string name_;
  Tree<ParamSpec> params_;
  std::unique_ptr<Optimizer> optimizer_;
};

/// Returns the entries of `tree` whose paths are in `wanted`.
Tree<Tensor> only(const Tree<Tensor>& tree, const Tree<ParamSpec>& wanted);

}  // namespace axle
