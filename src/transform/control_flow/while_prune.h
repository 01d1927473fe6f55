// The prune rule of while loops.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// Drops the carries that neither a used result nor the condition needs, over all iterations, and
/// the operands that only they need. A carry that no iteration changes becomes a const.
Pruned prune_while(const OpNode& op, const std::vector<bool>& used);

}  // namespace axle
