#include "transform/simplify.h"

#include <algorithm>

#include "base/hash.h"
#include "ir/op_rules.h"
#include "ir/tensor.h"
#include "ir/value_map.h"
#include "ops/create.h"
#include "transform/bodies.h"
#include "transform/partition.h"
#include "transform/trace.h"

namespace axle {
namespace {

using Marks = std::vector<bool>;

// An op that becomes smaller. Its ports number the operands and results of the op as it was.
class SmallerOp {
 public:
  explicit SmallerOp(const OpNode& op) : flow(flow_of(op)), regions(op.regions), op_(op) {}

  BodyFlow flow;
  Regions regions;

  // Keeps the results that the used ones need in some run.
  void keep_needed(const Marks& used) {
    const Marks wanted = marks_back_through_trips(flow, used, [&](size_t r, const Marks& results) {
      return needed_parameters(*regions[r], results);
    });
    for (size_t r = 0; r < regions.size(); ++r) keep(r, at_ports(wanted, flow.regions[r].results));
  }

  // Removes the results that are operands. Returns, for each result, the operand.
  std::vector<std::optional<size_t>> forward_operands() {
    std::vector<std::optional<size_t>> out(op_.outputs.size());
    for (size_t r = 0; r < regions.size(); ++r) {
      const auto& [parameters, results, trips] = flow.regions[r];
      for (size_t i = 0; i < results.size(); ++i) {
        for (size_t p = 0; p < parameters.size(); ++p) {
          if (passes_on(parameters[p], results[i]) &&
              same(regions[r]->parameters()[p], regions[r]->results()[i]))
            out[results[i].at] = parameters[p].at;
        }
      }
      Marks is_computed;
      for (const Port& port : results) is_computed.push_back(!out[port.at]);
      keep(r, is_computed);
    }
    for (RegionFlow& region : flow.regions) {
      for (Port& port : region.parameters) {
        if (port.flow == Flow::kCarried && out[port.carried_from]) port = {.at = port.at};
      }
    }
    return out;
  }

  // Removes the parameters that are not read. Branches share operands: if one of them reads an
  // operand, all take it.
  void keep_read() {
    Marks returned = returned_results(flow);
    returned.resize(op_.outputs.size());
    std::vector<Marks> needed(regions.size());
    Marks shared(op_.inputs.size(), false);
    for (size_t r = 0; r < regions.size(); ++r) {
      needed[r] = needed_parameters(*regions[r]);
      for (size_t p = 0; p < needed[r].size(); ++p) {
        const Port& port = flow.regions[r].parameters[p];
        if (port.flow == Flow::kCarried) needed[r][p] = returned[port.carried_from];
        if (needed[r][p] || port.is_needed) shared[port.at] = needed[r][p] = true;
      }
    }
    for (size_t r = 0; r < regions.size(); ++r) {
      auto& [ports, results, trips] = flow.regions[r];
      std::vector<size_t> kept;
      for (size_t p = 0; p < ports.size(); ++p) {
        if (needed[r][p] || (trips.repeats == Repeats::kOnce && shared[ports[p].at]))
          kept.push_back(p);
      }
      std::ranges::stable_sort(kept, {}, [&](size_t p) { return ports[p].flow; });
      Values parameters;
      std::vector<Port> rest;
      for (const size_t p : kept) {
        parameters.push_back(regions[r]->parameters()[p]);
        rest.push_back(ports[p]);
      }
      ports = std::move(rest);
      regions[r] = slice_region(*regions[r], parameters, regions[r]->results());
    }
  }

  // Marks the operands that the smaller op takes: all that no region was given, such as an index.
  Marks marks_of_operands() const {
    Marks out(op_.inputs.size(), true);
    for (const RegionFlow& region : flow_of(op_).regions) {
      for (const Port& port : region.parameters) out[port.at] = false;
    }
    for (const RegionFlow& region : flow.regions) {
      for (const Port& port : region.parameters) out[port.at] = true;
    }
    return out;
  }

 private:
  static bool passes_on(const Port& from, const Port& to) {
    if (to.flow == Flow::kCarried) return from.flow == to.flow && from.carried_from == to.at;
    return to.flow == Flow::kPart && from.flow == to.flow && from.spec == to.spec;
  }

  // Keeps the marked results of region r, and those that are for the op itself.
  void keep(size_t r, Marks marks) {
    if (std::ranges::count(marks, false) == 0) return;
    flow.regions[r].results = selected(flow.regions[r].results, marks);
    const Region& region = *regions[r];
    marks.resize(region.results().size(), true);
    regions[r] = slice_region(region, region.parameters(), selected(region.results(), marks));
  }

  const OpNode& op_;
};

std::vector<bool> used_results(const OpNode& op, const ValueSet& live) {
  std::vector<bool> used(op.outputs.size());
  for (uint32_t i = 0; i < op.outputs.size(); ++i) used[i] = live.contains(Tensor(&op, i));
  return used;
}

// The ops that some result needs, with what is left of those that have unused results.
struct SimplifyPlan {
  std::vector<const OpNode*> ops;
  std::unordered_map<const OpNode*, Pruned> pruned;
};

SimplifyPlan plan_live_ops(const Region& region) {
  SimplifyPlan plan;
  ValueSet live(region.results());
  for (auto it = region.ops().rbegin(); it != region.ops().rend(); ++it) {
    const OpNode& op = **it;
    const std::vector<bool> used = used_results(op, live);
    if (std::ranges::find(used, true) == used.end() && !has_effect(op)) continue;
    plan.ops.push_back(&op);
    if (auto smaller = prune(op, used)) {
      live.insert_all(selected(op.inputs, smaller->inputs));
      plan.pruned.emplace(&op, std::move(*smaller));
    } else {
      live.insert_all(op.inputs);
    }
  }
  std::ranges::reverse(plan.ops);
  return plan;
}

bool equal_attributes(const OpNode& a, const OpNode& b) {
  if (a.attributes == b.attributes) return true;
  return a.attributes && b.attributes && a.attributes->text() == b.attributes->text();
}

size_t attributes_hash(const OpNode& op) {
  return op.attributes ? xxh3_64(op.attributes->text()) : 0;
}

size_t inputs_hash(const OpNode& op, const Values& inputs) {
  size_t h = std::hash<const void*>()(op.rules);
  for (const Tensor& t : inputs) h = h * 31 + TensorHash()(t);
  return inputs.empty() ? h ^ attributes_hash(op) : h;  // many constants are different
}

// Ops that compute the same.
struct SameOp {
  const OpNode* op;
  Values inputs;  // in the new region
  size_t hash;
  bool operator==(const SameOp& other) const {
    return op->rules == other.op->rules && op->phase == other.op->phase &&
           std::ranges::equal(inputs, other.inputs,
                              [](const Tensor& a, const Tensor& b) { return same(a, b); }) &&
           op->outputs == other.op->outputs && op->regions == other.op->regions &&
           equal_attributes(*op, *other.op);
  }
};
struct SameOpHash {
  size_t operator()(const SameOp& key) const { return key.hash; }
};

// Two ops with the same inputs are seldom different, and texts of attributes are slow to make. From
// this number of them on (slices of one tensor), their texts are hashed as well.
constexpr size_t kMostAlike = 8;

// The text of a large constant is long, and two of them are seldom equal.
constexpr int64_t kMaxMergedElements = 64;

bool can_merge(const OpNode& op) {
  if (op.rules->row().traits.is_kept_apart || !op.regions.empty()) return false;
  return !op.inputs.empty() || splat_of(Tensor(&op, 0)) ||
         op.outputs[0].num_elements() <= kMaxMergedElements;
}

// Returns the splat that an op which moves the elements of a splat is; none for other ops.
Tensor folded(const OpNode& op, const Values& inputs) {
  if (!op.rules->row().traits.moves_elements) return {};
  const auto value = splat_of(inputs[0]);
  if (!value) return {};
  // Splats are real numbers, also those of complex tensors.
  const Type& type = op.outputs[0];
  const DType from = real_dtype(inputs[0].dtype()), to = real_dtype(type.dtype);
  if (from == to) return full(type.dims, *value, type.dtype);
  // The operand rounds the number before the op converts it. Evaluation in f64 does not round, so
  // the compiler folds a number that changes.
  const HostTensor rounded = HostTensor::full({}, *value, from);
  if (is_float(to) && rounded.at(0) != value->as<double>()) return {};
  return full(type.dims, rounded.astype(to).element(0), type.dtype);
}

// Emits the live ops of a region into the current one.
class SimpleEmitter {
 public:
  SimpleEmitter(Copies copies, size_t num_ops) : copies_(std::move(copies)) {
    seen_.reserve(num_ops);
  }

  void emit(const OpNode& op, const SimplifyPlan& plan) {
    const OriginScope origin(op);
    const PhaseScope phase(op.phase);
    if (const auto it = plan.pruned.find(&op); it != plan.pruned.end()) {
      return define(op, it->second.emit(copies_.all(selected(op.inputs, it->second.inputs))));
    }
    Values inputs = copies_.all(op.inputs);
    if (const Tensor splat = folded(op, inputs)) return define(op, {merged(splat)});
    if (!can_merge(op))
      return define(op, emit_all(*op.rules, std::move(inputs), op.attributes, bodies(op)));
    const size_t hash = inputs_hash(op, inputs);
    SameOp key{&op, std::move(inputs), hash};
    auto found = seen_.find(key);
    if (found == seen_.end() && num_alike_[hash]++ >= kMostAlike) {
      key.hash ^= attributes_hash(op);
      found = seen_.find(key);
    }
    if (found != seen_.end()) return define(op, found->second);
    Values results = emit_all(*op.rules, key.inputs, op.attributes, op.regions);
    define(op, results);
    seen_.emplace(std::move(key), std::move(results));
  }

  const Copies& copies() const { return copies_; }

 private:
  void define(const OpNode& op, const Values& results) { copies_.set_results(op, results); }
  static std::vector<std::shared_ptr<const Region>> bodies(const OpNode& op) {
    std::vector<std::shared_ptr<const Region>> out;
    for (const auto& region : op.regions) out.push_back(simplify(*region));
    return out;
  }
  // Returns an earlier splat that is equal to this one, if there is one.
  Tensor merged(const Tensor& splat) {
    const OpNode& op = *splat.node();
    return seen_.try_emplace({&op, {}, inputs_hash(op, {})}, Values{splat}).first->second[0];
  }

  Copies copies_;
  std::unordered_map<SameOp, Values, SameOpHash> seen_;
  std::unordered_map<size_t, size_t> num_alike_;  // by the hash of rules and inputs
};

}  // namespace

std::optional<Pruned> prune(const OpNode& op, const std::vector<bool>& used) {
  if (!op.rules->row().body.emit) return std::nullopt;
  SmallerOp rest(op);
  rest.keep_needed(used);
  for (auto& region : rest.regions) region = simplify(*region);
  rest.keep_needed(used);
  const std::vector<std::optional<size_t>> operand_of = rest.forward_operands();
  rest.keep_read();

  bool executes = std::ranges::any_of(rest.regions, [](const auto& r) { return has_effect(*r); });
  for (size_t i = 0; i < used.size(); ++i) executes = executes || (used[i] && !operand_of[i]);
  Pruned out{.inputs = executes ? rest.marks_of_operands() : Marks(op.inputs.size(), false)};
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i] && operand_of[i]) out.inputs[*operand_of[i]] = true;
  }
  out.emit = [&op, used, operand_of, executes, kept = out.inputs, flow = rest.flow,
              regions = rest.regions](const Values& inputs) {
    const Values operands = spread_results(inputs, kept);
    Values all;
    if (executes) all = emit_like(op, flow, regions, operands);
    all.resize(used.size());
    for (size_t i = 0; i < all.size(); ++i) {
      if (operand_of[i]) all[i] = operands[*operand_of[i]];
      if (!used[i]) all[i] = {};
    }
    return all;
  };
  return out;
}

std::shared_ptr<Region> simplify(const Region& region) {
  auto out = std::make_shared<Region>();
  Copies copies;
  for (const Tensor& p : region.parameters())
    copies.set(p, out->add_parameter(p.type(), p.node()->scope ? *p.node()->scope : ""));
  {
    const TraceScope scope(*out);
    const SimplifyPlan plan = plan_live_ops(region);
    SimpleEmitter emitter(std::move(copies), plan.ops.size());
    for (const OpNode* op : plan.ops) emitter.emit(*op, plan);
    out->set_results(emitter.copies().all(region.results()));
  }
  verify_if_asked(*out);
  // Ops that were folded may leave operands behind that nobody uses. The second pass removes them
  // and renumbers the ops.
  const size_t num_ops = out->ops().size();
  out->remove_dead_ops();
  return out->ops().size() == num_ops ? out : simplify(*out);
}

}  // namespace axle
