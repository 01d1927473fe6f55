#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/lists.h"
#include "ir/value_map.h"
#include "ops/annotate.h"
#include "transform/bodies.h"
#include "transform/partition.h"
#include "transform/trace.h"

namespace axle {
namespace {

// What is done with the forward ops that the backward part needs.
struct DivisionPlan {
  std::unordered_map<const OpNode*, Divided> divided;
  std::unordered_set<const OpNode*> recomputed;
};

DivisionPlan plan_ops(const Joint& joint, const ResidualPolicy& policy) {
  DivisionPlan plan;
  const Region& region = *joint.region;
  const ValueMap<Tensor> names = kept_names(region, policy);
  ValueSet wanted;
  const auto want = [&](const Tensor& t) {
    const Tensor* const named = names.find(t);
    wanted.insert(named ? *named : t);
  };
  for (size_t i = joint.num_results; i < region.results().size(); ++i) want(region.results()[i]);
  for (auto it = region.ops().rbegin(); it != region.ops().rend(); ++it) {
    const OpNode& op = **it;
    if (op.phase == Phase::kBackward) {
      std::ranges::for_each(op.inputs, want);
      continue;
    }
    std::vector<bool> used;
    for (const Tensor& t : op.results()) used.push_back(wanted.contains(t));
    if (std::ranges::count(used, true) == 0 || policy(op) != Residual::kRecompute) continue;
    std::optional<Divided> divided = divide(op, used, policy);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!divided || divided->inputs[i]) want(op.inputs[i]);
    }
    if (divided)
      plan.divided.emplace(&op, std::move(*divided));
    else
      plan.recomputed.insert(&op);
  }
  return plan;
}

// Emits the ops of a joint region into the current region.
class HalfEmitter {
 public:
  HalfEmitter(const DivisionPlan& plan, ValueMap<Residual>& kept) : plan_(plan), kept_(kept) {}

  void set(const Tensor& value, const Tensor& copy) { forward_.set(value, copy); }
  Tensor forward(const Tensor& t) const { return forward_.at(t); }
  // Returns the value as the backward part reads it.
  Tensor again(const Tensor& t) const { return again_.contains(t) ? again_.at(t) : forward_.at(t); }

  void emit(const OpNode& op) {
    const OriginScope origin(op);
    if (op.phase == Phase::kBackward) {
      const PhaseScope phase(Phase::kBackward);
      return forward_.set_results(op, copied(op, op.regions));
    }
    const PhaseScope phase(Phase::kForward);
    if (const auto found = plan_.divided.find(&op); found != plan_.divided.end())
      return emit_divided(op, found->second);
    forward_.clone(op);
    const auto is_again = [&](const Tensor& t) { return again_.contains(t); };
    if (!plan_.recomputed.contains(&op) || std::ranges::none_of(op.inputs, is_again)) return;
    const PhaseScope backward(Phase::kBackward);
    // What an op delivers, it delivers once.
    std::vector<std::shared_ptr<const Region>> regions;
    for (const auto& region : op.regions) regions.push_back(without_effects(region));
    again_.set_results(op, copied(op, std::move(regions)));
  }

 private:
  // Emits a copy of an op that reads what the backward part reads.
  Values copied(const OpNode& op, std::vector<std::shared_ptr<const Region>> regions) const {
    Values inputs;
    for (const Tensor& t : op.inputs) inputs.push_back(again(t));
    return emit_all(*op.rules, std::move(inputs), op.attributes, std::move(regions));
  }

  void emit_divided(const OpNode& op, const Divided& divided) {
    const Values all = divided.forward(forward_.all(op.inputs));
    const size_t num_results = op.outputs.size();
    forward_.set_results(op, concatenate<Tensor>({std::span(all).first(num_results)}));
    const Values kept = concatenate<Tensor>({std::span(all).subspan(num_results)});
    for (size_t i = 0; i < kept.size(); ++i) kept_.insert(kept[i], divided.kept[i]);
    const PhaseScope backward(Phase::kBackward);
    Values needed;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (divided.inputs[i]) needed.push_back(again(op.inputs[i]));
    }
    again_.set_results(op, divided.again(needed, kept));
  }

  const DivisionPlan& plan_;
  ValueMap<Residual>& kept_;
  Copies forward_, again_;
};

// Returns a copy of the region whose results also include those marked in `used`, as the results
// of its backward part.
Joint without_backward_ops(const Region& region, const std::vector<bool>& used) {
  Joint out{.region = std::make_shared<Region>(),
            .num_parameters = region.parameters().size(),
            .num_results = region.results().size()};
  const TraceScope scope(*out.region);
  const PhaseScope phase(Phase::kForward);
  Values parameters;
  for (const Tensor& p : region.parameters())
    parameters.push_back(out.region->add_parameter(p.type()));
  Values results = inline_region(region, parameters);
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) results.push_back(results[i]);
  }
  out.region->set_results(std::move(results));
  return out;
}

}  // namespace

Joint divide_ops(Joint joint, const ResidualPolicy& policy, ValueMap<Residual>& kept) {
  const DivisionPlan plan = plan_ops(joint, policy);
  if (plan.divided.empty()) return joint;
  const Region& region = *joint.region;
  Joint out = joint;
  out.region = std::make_shared<Region>();
  {
    const TraceScope scope(*out.region);
    HalfEmitter emitter(plan, kept);
    for (const Tensor& p : region.parameters()) {
      emitter.set(p, out.region->add_parameter(p.type(), p.node()->scope ? *p.node()->scope : ""));
    }
    for (const OpNode* op : region.ops()) emitter.emit(*op);
    Values results;
    for (size_t i = 0; i < region.results().size(); ++i) {
      const Tensor& t = region.results()[i];
      results.push_back(i < joint.num_results ? emitter.forward(t) : emitter.again(t));
    }
    out.region->set_results(std::move(results));
  }
  out.region->remove_dead_ops();
  verify_joint_if_asked(*out.region, out.num_parameters, out.num_results);
  return out;
}

Halves divide_region(const Region& region, const std::vector<bool>& used,
                     const ResidualPolicy& policy) {
  return split(without_backward_ops(region, used), policy);
}

namespace {

// A result in which the forward op returns a kept value.
struct KeptResult {
  Type type;  // of the value in the region
  Residual kept_as;
  std::optional<size_t> result = {};  // the result of the op that it is anyway
  bool operator==(const KeptResult&) const = default;
};

// The halves of the regions of an op. `results` marks the results of the op that the backward
// halves compute in some run.
struct DividedRegions {
  std::vector<Halves> halves;
  std::vector<bool> results;
  std::vector<KeptResult> kept;
  std::vector<std::vector<size_t>> kept_in;  // for each region, where its saved values are kept
};

DividedRegions divide_regions(const OpNode& op, const BodyFlow& flow, const std::vector<bool>& used,
                              const ResidualPolicy& policy) {
  DividedRegions out{.halves = std::vector<Halves>(op.regions.size())};
  out.results = marks_back_through_trips(flow, used, [&](size_t r, const std::vector<bool>& own) {
    out.halves[r] = divide_region(op.region(r), own, policy);
    std::vector<bool> needed(op.region(r).parameters().size(), false);
    for (const size_t i : out.halves[r].needed) needed[i] = true;
    return needed;
  });
  for (size_t r = 0; r < op.regions.size(); ++r) {
    const Halves& halves = out.halves[r];
    std::vector<size_t>& own = out.kept_in.emplace_back();
    for (size_t i = 0; i < halves.saved.size(); ++i) {
      KeptResult kept{halves.saved[i].type(), halves.saved_as[i]};
      // What a loop stacks anyway is not stacked twice.
      for (size_t j = 0; j < flow.regions[r].results.size(); ++j) {
        const Port& port = flow.regions[r].results[j];
        if (port.flow == Flow::kSliced && kept.kept_as == Residual::kSave &&
            same(halves.joint.region->results()[j], halves.saved[i]))
          kept.result = port.at;
      }
      own.push_back(take_slot(out.kept, kept, own));
    }
  }
  return out;
}

}  // namespace

std::optional<Divided> divide(const OpNode& op, const std::vector<bool>& used,
                              const ResidualPolicy& policy) {
  const BodyFlow flow = flow_of(op);
  if (!flow.kept) return std::nullopt;
  const DividedRegions divided = divide_regions(op, flow, used, policy);
  const std::vector<KeptResult>& kept = divided.kept;
  if (kept.empty()) return std::nullopt;
  // A loop moves each slice to the host.
  std::vector<bool> is_moved;
  Divided out{.inputs = std::vector<bool>(op.inputs.size(), true)};
  std::vector<Port> kept_results, kept_operands;
  std::vector<bool> computed = divided.results;  // a result that is kept anyway is not
  size_t num_results = op.outputs.size();
  for (const KeptResult& k : kept) {
    is_moved.push_back(flow.kept->flow == Flow::kSliced && k.kept_as == Residual::kOffload);
    out.kept.push_back(is_moved.back() ? Residual::kSave : k.kept_as);
    kept_operands.push_back(*flow.kept);
    kept_operands.back().at = op.inputs.size() + kept_results.size();
    kept_results.push_back(*flow.kept);
    kept_results.back().at = k.result ? *k.result : num_results++;
    if (k.result) computed[*k.result] = false;
  }
  BodyFlow forward = flow, again = flow;
  for (const RegionFlow& region : flow.regions) {
    for (const Port& port : region.parameters)
      out.inputs[port.at] = port.flow == Flow::kCarried && divided.results[port.carried_from];
  }
  for (size_t r = 0; r < op.regions.size(); ++r) {
    for (const size_t i : divided.halves[r].needed)
      out.inputs[flow.regions[r].parameters[i].at] = true;
  }
  Regions forward_regions, again_regions;
  for (size_t r = 0; r < op.regions.size(); ++r) {
    const Halves& halves = divided.halves[r];
    const std::vector<size_t>& own = divided.kept_in[r];
    const auto& [parameters, results, trips] = flow.regions[r];
    forward_regions.push_back(trace(
        [&](const Values& p) {
          const Values all = inline_region(*halves.forward, p);
          Values returned(all.begin(), all.end() - std::ssize(own));
          for (size_t i = 0; i < own.size(); ++i) {
            if (kept[own[i]].result) continue;
            const Tensor& value = all[results.size() + i];
            returned.push_back(is_moved[own[i]] ? place(value, Memory::kHost) : value);
            forward.regions[r].results.push_back(kept_results[own[i]]);
          }
          return returned;
        },
        types_of(halves.forward->parameters())));
    std::vector<Type> types;
    std::vector<size_t> position;
    again.regions[r].parameters.clear();
    for (size_t i = 0; i < parameters.size(); ++i) {
      position.push_back(types.size());
      if (!out.inputs[parameters[i].at]) continue;
      types.push_back(op.region(r).parameters()[i].type());
      again.regions[r].parameters.push_back(parameters[i]);
    }
    const size_t num_needed = types.size();
    for (size_t i = 0; i < kept.size(); ++i) {
      types.push_back(kept[i].type);
      again.regions[r].parameters.push_back(kept_operands[i]);
    }
    again.regions[r].results = selected(results, at_ports(computed, results));
    again_regions.push_back(trace(
        [&](const Values& p) {
          Values in;
          for (const size_t i : halves.needed) in.push_back(p[position[i]]);
          for (const size_t i : own) in.push_back(p[num_needed + i]);
          const Values all = spread_results(inline_region(*halves.backward, in),
                                            at_ports(divided.results, results));
          return selected(all, at_ports(computed, results));
        },
        types));
  }
  out.forward = [=, &op](const Values& inputs) {
    const Values all = emit_like(op, forward, forward_regions, inputs);
    return concatenate<Tensor>(
        {std::span(all).first(op.outputs.size()), at_ports(all, kept_results)});
  };
  out.again = [=, &op, marks = out.inputs](const Values& inputs, const Values& values) {
    Values operands = spread_results(inputs, marks);
    for (size_t i = 0; i < values.size(); ++i)
      operands.push_back(is_moved[i] ? place(values[i], Memory::kDevice) : values[i]);
    Values all;
    if (std::ranges::count(computed, true) > 0) all = emit_like(op, again, again_regions, operands);
    all.resize(used.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (kept_results[i].at < all.size()) all[kept_results[i].at] = operands[marks.size() + i];
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (!used[i]) all[i] = {};
    }
    return all;
  };
  return out;
}

}  // namespace axle
