// The linearize rule of cond.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// Splits each branch into a forward and a backward half. The residuals of different branches share
/// results of the forward cond, by type.
Linearized linearize_cond(const OpNode& op, const Values& inputs, const std::vector<bool>& active);

/// Emits a cond over closed branches, which have the same parameters. It is defined in cond.cpp,
/// next to the row of the op.
Values emit_cond(std::vector<std::shared_ptr<const Region>> branches, Values inputs);

}  // namespace axle
