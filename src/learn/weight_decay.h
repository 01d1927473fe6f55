// Decay of the weights, apart from the gradient: its factors, and the scale of each parameter.
//
// Source: Loshchilov & Hutter 2019, arXiv 1711.05101, section 2.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "base/tree.h"
#include "config/fields.h"
#include "nn/param.h"

namespace axle {

// Rules by path: which parameters a pattern of a config names.
//
// Patterns are globs over paths with dots (nn/init_rules.h): "**.norm.scale". Without any
// parameters, as where a model could not be built, every pattern passes.

/// Numbers by pattern.
using NumbersByPath = std::map<std::string, NonNegative<double>>;

/// Returns the number of the pattern that matches each parameter; parameters without one are left
/// out. Throws ConfigError, naming the config path `where`, if two patterns with different numbers
/// match one parameter, or if a pattern matches no parameter.
Tree<double> numbers_by_path(const Tree<ParamSpec>& params, const NumbersByPath& by_pattern,
                             std::string_view where);

/// Returns the paths that at least one of the patterns matches. Throws ConfigError, naming the
/// config path `where`, if a pattern matches no parameter.
std::set<std::string, std::less<>> matching_paths(const Tree<ParamSpec>& params,
                                                  const std::vector<std::string>& patterns,
                                                  std::string_view where);

/// A factor of the weight decay, besides `weight_decay` and the update schedule.
enum class DecayFactor {
  kLearningRate,  // as in most libraries
  kOne,           // as in the paper: the decay does not depend on the learning rate
};
constexpr auto texts_of(DecayFactor) {
  return std::to_array<EnumText<DecayFactor>>(
      {{DecayFactor::kLearningRate, "learning_rate"}, {DecayFactor::kOne, "one"}});
}

/// Factors of the weight decay by pattern: {"**.norm.scale": 0}.
using WeightDecayScales = NumbersByPath;

/// Returns the factor of each parameter: that of the pattern that matches its path, else its own
/// weight_decay_scale, else 1. Throws ConfigError as numbers_by_path does.
Tree<double> weight_decay_scales(const Tree<ParamSpec>& params, const WeightDecayScales& by_pattern,
                                 std::string_view where);

/// Sets the weight_decay_scale of parameters with one of these names to 0. A name is the last part
/// of a path. Specs that have a scale keep it. A model need not have all of them.
/// Throws ConfigError, naming the config path `where`, for a name that is a path or a pattern, for
/// one that differs little from a name that the model has, and if the model has none of them.
void exempt_from_decay(Tree<ParamSpec>& params, const std::vector<std::string>& names,
                       std::string_view where);

}  // namespace axle
