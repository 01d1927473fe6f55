#include "transform/linearize.h"

#include <algorithm>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "transform/trace.h"

namespace axle {
namespace {

struct TapeEntry {
  const OpNode* op;    // the op of the original region
  const OpNode* copy;  // its clone, which the vjp rule reads; nullptr for ops with a linearize rule
  Pullback pullback;   // set for ops with a linearize rule
};

bool is_active(const OpNode& op, const ValueSet& active) {
  if (!op.rules->differentiable()) return false;
  return std::ranges::any_of(op.inputs, [&](const Tensor& t) { return active.contains(t); });
}

void add_active_results(const OpNode& op, ValueSet& active) {
  for (uint32_t i = 0; i < op.outputs.size(); ++i) {
    if (is_differentiable(op.outputs[i].dtype)) active.insert(Tensor(&op, i));
  }
}

Values pull_back(const TapeEntry& entry, Values cotangents) {
  if (entry.pullback) return entry.pullback(cotangents);
  const OpNode& op = *entry.copy;
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (is_differentiable(op.outputs[i].dtype))
      cotangents[i] = instantiate(cotangents[i], op.outputs[i]);
  }
  const Values outputs = op.results();
  return op.rules->row().vjp(X(op, op.inputs), Y(op, outputs), Ct(op, cotangents));
}

}  // namespace

bool& TransposedOnly::is_on() {
  thread_local bool is_on = false;
  return is_on;
}

// Tests for empty tensors are written without "!", which with ops/elementwise/elementwise.h negates
// predicates.
Tensor add_cotangents(const Tensor& a, const Tensor& b) {
  if (a && b) return a + b;
  return a ? a : b;
}
Tensor instantiate(const Tensor& cotangent, const Type& type) {
  return cotangent ? cotangent : zeros(type.dims, type.dtype);
}

ValueSet active_values(const Region& region, const std::vector<bool>& active) {
  ValueSet out;
  for (size_t i = 0; i < region.parameters().size(); ++i) {
    if (active[i] && is_differentiable(region.parameters()[i].dtype()))
      out.insert(region.parameters()[i]);
  }
  for (const OpNode* op : region.ops()) {
    if (is_active(*op, out)) add_active_results(*op, out);
  }
  return out;
}

std::vector<bool> active_results(const Region& region, const std::vector<bool>& active) {
  const ValueSet values = active_values(region, active);
  std::vector<bool> out;
  for (const Tensor& t : region.results()) out.push_back(values.contains(t));
  return out;
}

Linearized linearize(const Region& region, const Values& arguments,
                     const std::vector<bool>& active) {
  // The pullback shares this state, since it may run long after this function.
  struct State {
    std::vector<TapeEntry> tape;
    ValueSet active;
  };
  auto state = std::make_shared<State>();
  state->active = active_values(region, active);
  Copies copies(region.parameters(), arguments);
  for (const OpNode* op : region.ops()) {
    if (!is_active(*op, state->active)) {
      copies.clone(*op);
      continue;
    }
    if (op->rules->row().linearize) {
      std::vector<bool> inputs_active;
      for (const Tensor& t : op->inputs) inputs_active.push_back(state->active.contains(t));
      const OriginScope origin(*op);
      Linearized inner = op->rules->row().linearize(*op, copies.all(op->inputs), inputs_active);
      copies.set_results(*op, inner.outputs);
      state->tape.push_back({op, nullptr, std::move(inner.pullback)});
    } else {
      AXLE_CHECK(op->rules->row().vjp, "op without a vjp rule: " + std::string(op->rules->name()));
      state->tape.push_back({op, &copies.clone(*op), {}});
    }
  }
  Values parameters = region.parameters(), results = region.results();
  auto pullback = [state, parameters, results](const Values& cotangents) {
    const PhaseScope phase(Phase::kBackward);
    ValueMap<Tensor> ct;
    const auto accumulate = [&](const Tensor& value, const Tensor& g) {
      if (!static_cast<bool>(g) || !state->active.contains(value)) return;
      Tensor& sum = ct[value];
      sum = add_cotangents(sum, g);
    };
    const auto find = [&](const Tensor& value) {
      const Tensor* const sum = ct.find(value);
      return sum ? *sum : Tensor();
    };
    for (size_t i = 0; i < results.size(); ++i) accumulate(results[i], cotangents[i]);
    for (auto entry = state->tape.rbegin(); entry != state->tape.rend(); ++entry) {
      Values outputs;
      bool any = false;
      for (uint32_t i = 0; i < entry->op->outputs.size(); ++i) {
        outputs.push_back(find(Tensor(entry->op, i)));
        any |= static_cast<bool>(outputs.back());
      }
      if (!any) continue;
      const OriginScope origin(*entry->op);
      const Values inputs = pull_back(*entry, std::move(outputs));
      AXLE_CHECK(inputs.size() == entry->op->inputs.size(),
                 "one cotangent for each input of " + std::string(entry->op->rules->name()));
      for (size_t i = 0; i < inputs.size(); ++i) accumulate(entry->op->inputs[i], inputs[i]);
    }
    Values out;
    for (const Tensor& p : parameters) out.push_back(find(p));
    return out;
  };
  return {copies.all(region.results()), std::move(pullback)};
}

}  // namespace axle
