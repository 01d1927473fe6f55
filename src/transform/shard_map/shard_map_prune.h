// The prune rule of shard_map.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// Drops the results that nobody uses and the operands that only they need. A result whose parts
/// are those of an operand, divided in the same way, is that operand.
Pruned prune_shard_map(const OpNode& op, const std::vector<bool>& used);

}  // namespace axle
