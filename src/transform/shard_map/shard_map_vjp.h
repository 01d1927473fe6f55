// The linearize rule of shard_map.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// Splits the body into a forward and a backward half, each in a shard_map of its own. Residuals
/// stay on the devices that computed them.
Linearized linearize_shard_map(const OpNode& op, const Values& inputs,
                               const std::vector<bool>& active);

}  // namespace axle
