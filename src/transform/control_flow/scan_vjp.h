// The linearize rule of scan.
#pragma once

#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// Splits the joint graph of a scan into a forward and a backward scan.
Linearized linearize_scan(const OpNode& op, const Values& inputs, const std::vector<bool>& active);

}  // namespace axle
