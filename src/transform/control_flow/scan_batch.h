// The batching rule of scan.
#pragma once

#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// A carry is batched if it is in any iteration. The batch of xs and ys comes after the dim that
/// the scan runs over.
std::vector<Batched> batch_scan(BatchX x);

}  // namespace axle
