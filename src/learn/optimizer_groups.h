// An optimizer inside another one, with some of its parameters.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/fields.h"
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

/// Some parameters and their optimizer.
struct OptimizerGroup {
  /// Patterns of the paths of the group's parameters.
  std::vector<std::string> params = {};
  /// Updates the parameters of the group.
  Child<Optimizer> optimizer = {};
  AXLE_CONFIG(OptimizerGroup, params, optimizer)
};

/// Updates each parameter with the optimizer of its group, and the rest with `others`.
///
/// State: "groups/<name>/..." and "others/...". Metrics: from others under their own names,
/// from the groups as "<metric>/<name>".
class OptimizerGroups final : public Optimizer {
 public:
  struct Config {
    /// The groups by name.
    NamedMap<OptimizerGroup> groups = {};
    /// Updates the parameters of no group, if there are any; none: there must be none.
    std::optional<Child<Optimizer>> others = {};
    AXLE_CONFIG(OptimizerGroups, groups, others)
  };
  /// Throws ConfigError for a group without patterns, a pattern that matches no parameter, a
  /// parameter in two groups, and one that is left over although `others` is none.
  OptimizerGroups(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const Tree<Tensor>& params) const override;
  Tree<Tensor> gradient_point(const Tree<Tensor>& params, const Tree<Tensor>& state) const override;
  Tree<Tensor> measure(const MeasureInputs& in) const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  struct Part {
    InnerOptimizer optimizer;
    std::string metric_suffix;
  };
  std::vector<Part> parts_;
};

}  // namespace axle
