// An optimizer inside another one, with some of its parameters.
#pragma once

#include <memory>
#include <string>

#include "learn/optimizer.h"

namespace axle {

/// Passes its own parameters to an optimizer, and joins what the optimizer returns to what is there
/// already. The optimizer's state and measurements lie below `name`. All parameters of a call may
/// include those of others.
class InnerOptimizer {
 public:
  InnerOptimizer(const Child<Optimizer>& config, std::string name, Tree<ParamSpec> params,
                 const std::string& config_path);

  const Tree<ParamSpec>& params() const { return params_; }
  const std::string& name() const { return name_; }

  void add_state_specs(Tree<ParamSpec>& specs) const;
  void add_state(const Tree<Tensor>& params, Tree<Tensor>& state) const;
  /// Replaces its own parameters among `params`.
  void move_to_gradient_point(Tree<Tensor>& params, const Tree<Tensor>& state) const;
  void add_measured(const MeasureInputs& in, Tree<Tensor>& measured) const;
  /// Adds the metrics as "<metric>/<suffix>", or under their own names if `suffix` is empty.
  void add_update(const UpdateInputs& in, std::string_view suffix, UpdateOutputs& out) const;

 private:
  std::string name_;
  Tree<ParamSpec> params_;
  std::unique_ptr<Optimizer> optimizer_;
};

/// Returns the entries of `tree` whose paths are in `wanted`.
Tree<Tensor> only(const Tree<Tensor>& tree, const Tree<ParamSpec>& wanted);

}  // namespace axle
