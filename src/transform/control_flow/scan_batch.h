// The batching rule of scan.
#pragma once

#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// A carry gets the batch dim if some iteration gives it one. The batch dim of xs and ys is dim 1,
/// after the dim that the scan runs over.
std::vector<Batched> batch_scan(BatchX x);

}  // namespace axle
