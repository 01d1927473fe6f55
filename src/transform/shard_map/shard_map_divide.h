// The rule that divides shard_maps between the forward and the backward part of a remat region.
#pragma once

#include <optional>

#include "ir/op_rules.h"

namespace axle {

/// Divides a shard_map: the forward one also returns the values of its body that the policy keeps,
/// and the backward one reads them. They stay on the devices that computed them. The caller moves
/// those that are to be offloaded to the host.
std::optional<Divided> divide_shard_map(const OpNode& op, const std::vector<bool>& used,
                                        const ResidualPolicy& policy);

}  // namespace axle
