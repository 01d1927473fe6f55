#include "nn/depends.h"

#include <set>

#include "ir/op_rules.h"

namespace axle {
namespace {

// Returns the inputs that the results of the op need: a body may be handed values that it does not
// read.
Values needed_inputs(const OpNode& op) {
  if (op.regions.empty() || !op.rules->row().prune) return op.inputs;
  const Pruned pruned = op.rules->row().prune(op, std::vector<bool>(op.outputs.size(), true));
  Values out;
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (pruned.inputs[i]) out.push_back(op.inputs[i]);
  return out;
}

}  // namespace

bool depend_on(const Values& results, const Tensor& value) {
  std::set<const OpNode*> seen;
  Values waiting = results;
  while (!waiting.empty()) {
    const OpNode* const op = waiting.back().node();
    waiting.pop_back();
    if (op == value.node()) return true;
    const bool is_parameter = !op->rules;
    if (is_parameter || !seen.insert(op).second) continue;
    for (const Tensor& x : needed_inputs(*op)) waiting.push_back(x);
  }
  return false;
}

}  // namespace axle
