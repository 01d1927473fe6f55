// What a program costs by its graph alone.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Work of one run on all devices together: a loop's body counts in each iteration, what is
/// computed again counts again.
struct GraphCost {
  double flops = 0;
  /// Operands and results of all ops, as if each stood alone; names, constraints and other views
  /// of the same bytes move nothing (CostRule).
  double bytes = 0;
};

GraphCost graph_cost(const Region& graph);

}  // namespace axle
