#include "transform/remat/divide.h"

#include <unordered_map>

#include "base/lists.h"
#include "ir/value_map.h"
#include "transform/clone.h"
#include "transform/marks.h"
#include "transform/taps/without_effects.h"
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
    for (const Tensor& t : const_cast<OpNode&>(op).results()) used.push_back(wanted.contains(t));
    if (std::ranges::count(used, true) == 0 || policy(op) != Residual::kRecompute) continue;
    const DivideRule rule = op.rules->row().divide;
    std::optional<Divided> divided = rule ? rule(op, used, policy) : std::nullopt;
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

std::optional<Divided> divide_body(const OpNode& op, const std::vector<bool>& used,
                                   const ResidualPolicy& policy) {
  Halves halves = divide_region(op.region(), used, policy);
  if (halves.saved.empty()) return std::nullopt;
  Divided out{.kept = halves.saved_as, .inputs = std::vector<bool>(op.inputs.size(), false)};
  for (const size_t i : halves.needed) out.inputs[i] = true;
  out.forward = [&op, body = halves.forward](const Values& inputs) {
    return emit_all(*op.rules, inputs, op.attributes, {body});
  };
  out.again = [&op, used, body = halves.backward](const Values& inputs, const Values& kept) {
    return spread_results(
        emit_all(*op.rules, concatenate<Tensor>({inputs, kept}), op.attributes, {body}), used);
  };
  return out;
}

}  // namespace axle
