// How strongly each parameter decays.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/tree.h"
#include "config/fields/ranged.h"
#include "nn/param.h"

namespace axle {

/// Factors of the weight decay by pattern over parameter paths, written with dots:
/// {"**.norm.scale": 0}.
using WeightDecayScales = std::map<std::string, NonNegative<double>>;

/// The factor of each parameter: its own weight_decay_scale, else that of the pattern that fits,
/// else 1. Throws ConfigError at `where` if two patterns fit a parameter and differ, or one fits
/// none.
Tree<double> weight_decay_scales(const Tree<ParamSpec>& params, const WeightDecayScales& by_pattern,
                                 std::string_view where);

}  // namespace axle
