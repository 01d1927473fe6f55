// Makes a traced region smaller before it is lowered.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// What is left of an op of which only some results are used.
struct Pruned {
  std::vector<bool> inputs;  // the inputs that the used results need
  /// Emits the smaller op. Takes the needed inputs, in order. Returns one tensor for each result of
  /// the op, empty ones for those that are not used.
  std::function<Values(const Values& inputs)> emit;
};
/// Removes what only unused results of an op with regions need, over all runs: ops of its regions,
/// what loops carry, operands. What every run passes on is not carried: the runs read the operand,
/// which is the result too. So is a result of a shard_map whose parts are those of an operand.
/// Returns none for ops that must stay as they are.
std::optional<Pruned> prune(const OpNode& op, const std::vector<bool>& used);

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
