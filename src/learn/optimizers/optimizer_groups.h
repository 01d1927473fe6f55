// An optimizer for each group of parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/fields/named_map.h"
#include "learn/inner_optimizer.h"
#include "learn/optimizer.h"

namespace axle {

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
/// State: "groups/<name>/..." and "others/...". Metrics: those of others under their own names,
/// those of the groups as "<metric>/<name>".
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
