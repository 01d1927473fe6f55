// The linearize rule of cond.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// Splits each branch into a forward and a backward half. Residuals of different branches share a
/// result of the forward cond if they have the same type.
Linearized linearize_cond(const OpNode& op, const Values& inputs, const std::vector<bool>& active);

}  // namespace axle
