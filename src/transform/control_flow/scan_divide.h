// The rule that divides scans between the forward and the backward part of a remat region.
#pragma once

#include <optional>

#include "ir/op_rules.h"

namespace axle {

/// Divides a scan: the forward loop stacks the values of its body that the policy keeps, and the
/// backward loop takes them as xs.
std::optional<Divided> divide_scan(const OpNode& op, const std::vector<bool>& used,
                                   const ResidualPolicy& policy);

}  // namespace axle
