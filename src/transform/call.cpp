#include "transform/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/lists.h"
#include "ir/hlo_builder.h"
#include "ir/tensor.h"
#include "ir/value_map.h"
#include "transform/batch_region.h"
#include "transform/bodies.h"
#include "transform/partition.h"

namespace axle {
namespace {

struct CallAttributes : Attributes {
  explicit CallAttributes(std::string n) : name(std::move(n)) {}
  std::string name;
  std::string text() const override { return name; }
};

Values emit_call(const std::string& name, std::shared_ptr<const Region> body, Values inputs);

// True if the text of its attributes says all about each op. Ops that differentiate themselves, or
// that have effects, may hold functions, which no text tells apart.
bool is_told_by_structure(const Region& body) {
  return !has_effect(body) && std::ranges::all_of(body.ops(), [](const OpNode* op) {
    return op->regions.empty() && !op->rules->row().linearize;
  });
}

Halves split_body(const Region& body, const std::vector<bool>& active) {
  return split(make_joint(body, active, std::vector<bool>(body.results().size(), true)), nullptr);
}

// Returns the halves of a differentiated body. Calls of equal bodies, such as those of the layers
// of a model, share them: the thread keeps the halves of its last few bodies.
Halves halves_of(const std::shared_ptr<const Region>& body, const std::vector<bool>& active) {
  struct Entry {
    uint64_t hash;
    std::vector<bool> active;
    std::shared_ptr<const Region> body;
    Halves halves;
  };
  constexpr size_t kMaxEntries = 4;
  thread_local std::deque<Entry> recent;
  if (!is_told_by_structure(*body)) return split_body(*body, active);
  const uint64_t hash = structure_hash(*body);
  for (const Entry& e : recent) {
    if (e.hash == hash && e.active == active && same_structure(*e.body, *body)) return e.halves;
  }
  if (recent.size() == kMaxEntries) recent.pop_front();
  recent.push_back({hash, active, body, split_body(*body, active)});
  return recent.back().halves;
}

Linearized linearize_call(const OpNode& op, const Values& inputs, const std::vector<bool>& active) {
  const std::string name = op.attrs<CallAttributes>().name;
  const Halves halves = halves_of(op.regions[0], active);
  const Values forward = emit_call(name, halves.forward, inputs);
  const size_t num_results = halves.joint.num_results;
  auto pullback = [=](const Values& cotangents) {
    Values in;
    for (const size_t i : halves.needed) in.push_back(inputs[i]);
    in = concatenate<Tensor>(
        {in, std::span(forward).subspan(num_results), gather_cotangents(halves.joint, cotangents)});
    return spread_input_cotangents(halves.joint, emit_call(name + "_vjp", halves.backward, in));
  };
  return {concatenate<Tensor>({std::span(forward).first(num_results)}), std::move(pullback)};
}

const OpRules call_rules({.name = "call",
                          .infer = infer_body,
                          .batch = batch_flow,
                          .linearize = linearize_call,
                          .body = kRunsBodyOnce,
                          .eval = eval_body,
                          .hlo =
                              [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                // Equal bodies of all layers become one function.
                                const std::string name =
                                    fmt::format("{}_{:016x}", op.attrs<CallAttributes>().name,
                                                structure_hash(op.region()));
                                return b.call(name, x, op.outputs, [&](const HloValues& p) {
                                  return b.inline_region(op.region(), p);
                                });
                              },
                          .cost = {body_flops, body_bytes}});

Values emit_call(const std::string& name, std::shared_ptr<const Region> body, Values inputs) {
  return emit_all(call_rules, std::move(inputs), std::make_shared<const CallAttributes>(name),
                  {std::move(body)});
}

}  // namespace

Values call(const std::string& name, const TensorFunction& fn, const Values& arguments) {
  const ClosedRegion closed = trace_closed(fn, types_of(arguments));
  return emit_call(name, closed.region, closed.operands(arguments));
}

}  // namespace axle
