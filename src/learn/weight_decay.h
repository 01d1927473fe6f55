// Factors of the weight decay of each parameter.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/tree.h"
#include "config/fields/ranged.h"
#include "nn/param.h"

namespace axle {

/// Factors of the weight decay by pattern. Patterns match parameter paths written with dots:
/// {"**.norm.scale": 0}.
using WeightDecayScales = std::map<std::string, NonNegative<double>>;

/// Returns the factor of each parameter: its own weight_decay_scale, else the factor of the pattern
/// that matches its path, else 1. Throws ConfigError, naming the config path `where`, if two
/// patterns with different factors match one parameter, or if a pattern matches no parameter.
Tree<double> weight_decay_scales(const Tree<ParamSpec>& params, const WeightDecayScales& by_pattern,
                                 std::string_view where);

}  // namespace axle
