// The prune rule of scan.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// Drops the carries, operands and stacked results that only unused results need. A carry that no
/// iteration changes becomes a const.
Pruned prune_scan(const OpNode& op, const std::vector<bool>& used);

}  // namespace axle
