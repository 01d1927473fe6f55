// Patterns over the paths of parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "config/config_type.h"
#include "config/walk.h"
#include "ir/dtype.h"
#include "nn/init.h"
#include "nn/param.h"

namespace axle {

/// True if the pattern, a glob over paths with dots (glob_match in base/text/text.h), matches the
/// path of a parameter: "**.norm.scale" matches "decoder/norm/scale".
bool matches_path(std::string_view pattern, std::string_view path);

/// The initialiser of the parameters that a pattern matches.
struct InitRule {
  /// Their paths, as a pattern (nn/init_rules.h): "**.norm.scale".
  Required<std::string> pattern = REQUIRED;
  /// Their initialiser.
  Init init = {};
  AXLE_CONFIG(InitRule, pattern, init)
};

/// The dtype of the parameters that a pattern matches.
struct DTypeRule {
  /// Their paths, as a pattern (nn/init_rules.h): "**.norm.scale".
  Required<std::string> pattern = REQUIRED;
  /// Their dtype.
  Required<FloatDType> dtype = REQUIRED;
  AXLE_CONFIG(DTypeRule, pattern, dtype)
};

/// Chooses the initialiser by the parameter's name, in a slot's option @init. The first rule that
/// matches counts. Rules apply to weights without an initialiser of their own, and to those that
/// their layer starts at 0 or 1, such as biases and scales.
struct InitByName {
  /// The rules, in order.
  std::vector<InitRule> rules = {};
  /// Initialiser of weights that no rule matches.
  Init otherwise = VarianceScaling{};
  /// Initialises a parameter that no rule matches.
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(InitByName, rules, otherwise)
};

/// Returns the initialiser of the parameter at `path`. `own` is the one that its layer names, none
/// for a weight; `given` is that of the slot or of the layers above, none for VarianceScaling{}.
Init named_init(const std::optional<Init>& own, const std::optional<Init>& given,
                std::string_view path);
/// Returns the dtype of the first rule that matches the parameter at `path`; none if no rule does.
std::optional<DType> named_dtype(const std::vector<DTypeRule>& rules, std::string_view path);
/// Throws ConfigError with a line for each rule in the tree whose pattern matches no parameter:
/// DTypeRules in options @dtypes, and InitRules. `root_name` is the path of the root. Without any
/// parameters, as where a model could not be built, every pattern passes.
void check_rules_match(const Slot& root, std::string_view root_name, const Tree<ParamSpec>& params);

/// Draws each of `num_groups` equal parts of the last dim by itself, so that the fans are the fans
/// of one group. The weight of a convolution in groups has the fan out of one group then.
///
/// Group i draws with key i of split(key, num_groups); a single group draws with the key itself.
/// Throws ConfigError if num_groups does not divide the last dim.
struct InitPerGroup {
  /// Number of groups of the last dim.
  Required<Positive<int64_t>> num_groups = REQUIRED;
  /// Initialiser of each group.
  Init init = VarianceScaling{};
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(InitPerGroup, num_groups, init)
};

}  // namespace axle
