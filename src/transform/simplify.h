// Makes a traced region smaller before it is lowered.
#pragma once

#include <memory>
#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// Returns a region that computes the same results, to the last bit, with fewer ops:
///   dead code: ops without effect (ir/effect.h) whose results nobody uses, also inside of the
///     bodies of other ops; with them the carries, operands and results of these ops that only they
///     need;
///   common subexpressions: equal ops of one phase become one. Barriers are never merged, so that
///     what remat recomputes behind one stays recomputed;
///   folding: reshaped, broadcast, sliced or converted splats become splats.
/// Parameters and results stay as they are.
std::shared_ptr<Region> simplify(const Region& region);

/// Prune rule of ops that run their body, the op's only region, once: call, remat.
Pruned prune_body(const OpNode& op, const std::vector<bool>& used);

/// Returns the elements that are marked.
template <class T>
std::vector<T> selected(const std::vector<T>& elements, const std::vector<bool>& marks) {
  std::vector<T> out;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i]) out.push_back(elements[i]);
  }
  return out;
}
/// Returns the results at the places of the used ones, and empty tensors at the others.
Values spread_results(const Values& results, const std::vector<bool>& used);
/// Marks the parameters of `region` that its results need.
std::vector<bool> needed_parameters(const Region& region);

}  // namespace axle
