// Rules by path: which parameters a pattern of a config names.
//
// Patterns are globs over paths with dots (nn/param_path.h): "**.norm.scale". Without any
// parameters, as where a model could not be built, every pattern passes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "config/fields/ranged.h"
#include "nn/param.h"

namespace axle {

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

}  // namespace axle
