// The cond op: its row.
#pragma once

#include <memory>
#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// Emits a cond over closed branches. The first input is the index. The others are the arguments of
/// every branch.
Values emit_cond(std::vector<std::shared_ptr<const Region>> branches, Values inputs);

}  // namespace axle
