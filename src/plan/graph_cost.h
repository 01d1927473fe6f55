// The cost of a program, computed from its graph alone.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// The work of one run on all devices together. A loop's body counts in each iteration, and
/// recomputation (remat) counts again.
struct GraphCost {
  double flops = 0;
  /// Bytes of the operands and results of all ops, as if no op were fused. Names, constraints and
  /// other views of the same bytes count nothing (CostRule).
  double bytes = 0;
};

GraphCost graph_cost(const Region& graph);

}  // namespace axle
