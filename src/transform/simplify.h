// Makes a traced region smaller before it is lowered.
#pragma once

#include <memory>

#include "ir/op_rules.h"

namespace axle {

/// Returns a region that computes the same results, to the last bit, with fewer ops:
///   dead code: ops without effect (ir/tensor.h) whose results nobody uses, also inside of the
///     bodies of other ops; with them the carries, operands and results of these ops that only they
///     need;
///   common subexpressions: equal ops of one phase become one. Barriers are never merged, so that
///     what remat recomputes behind one stays recomputed;
///   folding: reshaped, broadcast, sliced or converted splats become splats.
/// Parameters and results stay as they are.
std::shared_ptr<Region> simplify(const Region& region);

}  // namespace axle
