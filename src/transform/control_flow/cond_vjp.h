// The linearize rule of cond.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// Splits each branch into a forward and a backward half. The residuals of different branches share
/// results of the forward cond, by type.
Linearized linearize_cond(const OpNode& op, const Values& inputs, const std::vector<bool>& active);

}  // namespace axle
