// The rule that divides conds between the forward and the backward part of a remat region.
#pragma once

#include <optional>

#include "ir/op_rules.h"

namespace axle {

/// Divides a cond: each forward branch also returns the values that the policy keeps in it, and
/// zeros for those of the other branches. The backward branches read them.
std::optional<Divided> divide_cond(const OpNode& op, const std::vector<bool>& used,
                                   const ResidualPolicy& policy);

}  // namespace axle
