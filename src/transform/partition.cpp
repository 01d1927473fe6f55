#include "transform/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/lists.h"
#include "ir/op_rules.h"
#include "ir/tensor.h"
#include "ir/value_map.h"
#include "ops/annotate.h"
#include "transform/linearize.h"
#include "transform/trace.h"

namespace axle {

Joint make_joint(const Region& region, const std::vector<bool>& active,
                 const std::vector<bool>& wants, const std::vector<bool>& force,
                 const std::vector<bool>& force_results) {
  Joint joint;
  joint.region = std::make_shared<Region>();
  joint.num_parameters = region.parameters().size();
  joint.num_results = region.results().size();
  const TraceScope scope(*joint.region);
  const PhaseScope phase(
      Phase::kForward);  // a backward pass inside `region` is forward code of this joint region
  Values arguments;
  for (const Tensor& p : region.parameters()) {
    arguments.push_back(
        joint.region->add_parameter(p.type(), p.node()->scope ? *p.node()->scope : ""));
  }
  const Linearized lin = linearize(region, arguments, active);
  const ValueSet smooth = active_values(region, active);
  Values cotangents(lin.outputs.size());
  for (size_t i = 0; i < lin.outputs.size(); ++i) {
    const bool forced = !force_results.empty() && force_results[i];
    if (!forced && (!wants[i] || !smooth.contains(region.results()[i]))) continue;
    cotangents[i] = joint.region->add_parameter(lin.outputs[i].type(), "cotangent");
    joint.cotangent_of.push_back(i);
  }
  const Values gradients = lin.pullback(cotangents);
  Values results = lin.outputs;
  const PhaseScope backward(Phase::kBackward);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const bool made = gradients[i] || (!force.empty() && force[i]);
    joint.input_cotangent.push_back(made ? static_cast<int>(results.size()) : -1);
    if (made) results.push_back(instantiate(gradients[i], arguments[i].type()));
  }
  joint.region->set_results(std::move(results));
  joint.region->remove_dead_ops();
  verify_joint_if_asked(*joint.region, joint.num_parameters, joint.num_results);
  return joint;
}

namespace {

bool is_cheap(const Tensor& t) { return !t.is_parameter() && t.node()->rules->row().traits.cheap; }

// True if the cheap value `t` has fewer bytes than its inputs: a slice of a product, a cast to a
// narrower dtype. Parameters do not count as inputs, since they are kept anyway.
bool is_part_of_more(const Tensor& t) {
  size_t made_of = 0;
  for (const Tensor& input : t.node()->inputs) {
    if (!input.is_parameter()) made_of += input.type().num_bytes();
  }
  return made_of > t.type().num_bytes();
}

// True if cheap ops alone can recompute `t` from kept values and parameters.
bool is_made_of(const Tensor& t, const ValueSet& kept) {
  return std::ranges::all_of(t.node()->inputs, [&](const Tensor& input) {
    return input.is_parameter() || kept.contains(input) ||
           (is_cheap(input) && is_made_of(input, kept));
  });
}

// Returns the forward values that the backward ops and `results` read, followed back to those that
// `keep` holds for and to parameters. `cotangents` are parameters that belong to the backward part.
// `in_parts`: of a value that is larger than what is read of it, only the part is kept.
Values cut(const Region& region, std::span<const Tensor> cotangents,
           std::span<const Tensor> results, const std::function<bool(const Tensor&)>& keep,
           bool in_parts, const ValueMap<Tensor>& names = {}) {
  ValueSet backward(cotangents);
  for (const OpNode* op : region.ops()) {
    if (op->phase != Phase::kBackward) continue;
    for (const Tensor& t : op->results()) backward.insert(t);
  }
  Values wanted, out, parts;
  ValueSet seen;
  const auto want = [&](const Tensor& t) {
    if (!backward.contains(t) && seen.insert(t)) wanted.push_back(t);
  };
  for (const OpNode* op : region.ops()) {
    if (op->phase == Phase::kBackward) std::ranges::for_each(op->inputs, want);
  }
  std::ranges::for_each(results, want);
  const auto follow = [&](bool through_parts) {
    while (!wanted.empty()) {
      const Tensor t = wanted.back();
      wanted.pop_back();
      if (t.is_parameter() || keep(t))
        out.push_back(t);
      else if (in_parts && !through_parts && is_part_of_more(t))
        parts.push_back(t);
      else if (const Tensor* const named = names.find(t))
        want(*named);
      else
        std::ranges::for_each(t.node()->inputs, want);
    }
  };
  follow(/*through_parts=*/false);
  // A part whose whole is kept for another reason is recomputed from it. Of every other whole, only
  // the part is kept.
  const ValueSet kept(out);
  for (const Tensor& t : parts) {
    if (is_made_of(t, kept))
      std::ranges::for_each(t.node()->inputs, want);
    else
      out.push_back(t);
  }
  follow(/*through_parts=*/true);
  std::ranges::sort(out, {}, [](const Tensor& t) { return std::pair(t.node()->id, t.index()); });
  return out;
}

bool keeps(Effects effects, const OpNode& op) {
  switch (effects) {
    case Effects::kAll:
      return true;
    case Effects::kForward:
      return op.phase == Phase::kForward;
    case Effects::kBackward:
      return op.phase == Phase::kBackward;
    case Effects::kNone:
      return false;
  }
  return true;
}

Values cut_joint(const Joint& joint, const std::function<bool(const Tensor&)>& keep,
                 const ResidualPolicy& policy) {
  const Region& region = *joint.region;
  return cut(region, std::span(region.parameters()).subspan(joint.num_parameters),
             std::span(region.results()).subspan(joint.num_results), keep, /*in_parts=*/!policy,
             policy ? kept_names(region, policy) : ValueMap<Tensor>());
}

}  // namespace

Values read_by_backward(const Region& region) {
  return cut(
      region, {}, {}, [](const Tensor& t) { return !is_cheap(t); }, /*in_parts=*/true);
}

Values residuals(const Joint& joint, const ResidualPolicy& policy) {
  const auto keep = [&](const Tensor& t) {
    return policy ? policy(*t.node()) != Residual::kRecompute : !is_cheap(t);
  };
  return cut_joint(joint, keep, policy);
}

ValueMap<Tensor> kept_names(const Region& region, const ResidualPolicy& policy) {
  ValueMap<Tensor> out;
  for (const OpNode* op : region.ops()) {
    if (op->phase == Phase::kForward && !tag_of(*op).empty() && policy(*op) != Residual::kRecompute)
      out.insert(op->inputs[0], Tensor(op, 0));
  }
  return out;
}

std::shared_ptr<Region> slice_region(const Region& region, const Values& inputs,
                                     const Values& results, Effects effects) {
  auto out = std::make_shared<Region>();
  Copies copies;
  for (const Tensor& t : inputs)
    copies.set(t, out->add_parameter(t.type(), t.node()->scope ? *t.node()->scope : ""));
  for (const Tensor& t : inputs) {
    for (const OpNode* op = t.node(); !op->inputs.empty() && !tag_of(*op).empty();
         op = op->inputs[0].node()) {
      if (copies.contains(op->inputs[0])) continue;
      const Tensor copy = copies.at(t);  // not a reference: set() may move it
      copies.set(op->inputs[0], copy);
    }
  }
  std::vector<bool> needed(region.num_nodes() + 1, false);
  std::vector<const OpNode*> pending;
  const auto need_op = [&](const OpNode* op) {
    if (needed[op->id]) return;
    needed[op->id] = true;
    pending.push_back(op);
  };
  const auto need = [&](const Tensor& t) {
    if (copies.contains(t)) return;
    AXLE_CHECK(!t.is_parameter(),
               "a slice needs a parameter that is not among its inputs: " + describe(t));
    need_op(t.node());
  };
  std::ranges::for_each(results, need);
  std::unordered_set<const OpNode*> silent;  // ops that lose their effect
  for (const OpNode* op : region.ops()) {
    if (!has_effect(*op)) continue;
    if (!keeps(effects, *op))
      silent.insert(op);
    else
      need_op(op);
  }
  while (!pending.empty()) {
    const OpNode* op = pending.back();
    pending.pop_back();
    std::ranges::for_each(op->inputs, need);
  }
  {
    const TraceScope scope(*out);
    for (const OpNode* op : region.ops()) {
      if (!needed[op->id]) continue;
      const PhaseScope phase(effects == Effects::kAll ? op->phase : Phase::kForward);
      if (silent.contains(op))
        clone_without_effects(*op, copies);
      else
        copies.clone(*op);
    }
    out->set_results(copies.all(results));
  }
  verify_if_asked(*out);
  return out;
}

Halves split(Joint joint, const ResidualPolicy& policy) {
  Halves out;
  ValueMap<Residual> inside;  // values that the policy keeps inside of the regions of ops
  out.joint = policy ? divide_ops(std::move(joint), policy, inside) : std::move(joint);
  const auto kept_as = [&](const Tensor& t) {
    if (const Residual* const found = inside.find(t)) return *found;
    if (policy) return policy(*t.node());
    return is_cheap(t) ? Residual::kRecompute : Residual::kSave;
  };
  const auto keep = [&](const Tensor& t) { return kept_as(t) != Residual::kRecompute; };
  const Region& region = *out.joint.region;
  const std::span parameters = std::span(region.parameters()).first(out.joint.num_parameters);
  const std::span cotangents = std::span(region.parameters()).subspan(out.joint.num_parameters);
  const std::span results = std::span(region.results()).first(out.joint.num_results);
  const std::span gradients = std::span(region.results()).subspan(out.joint.num_results);
  Values needed;
  for (const Tensor& t : cut_joint(out.joint, keep, policy)) {
    if (!t.is_parameter()) {
      out.saved.push_back(t);
      // A part of a value is kept where its whole is not.
      out.saved_as.push_back(kept_as(t) == Residual::kOffload ? Residual::kOffload
                                                              : Residual::kSave);
      continue;
    }
    const auto it = std::ranges::find_if(parameters, [&](const Tensor& p) { return same(p, t); });
    out.needed.push_back(static_cast<size_t>(it - parameters.begin()));
    needed.push_back(t);
  }
  out.forward = slice_region(region, concatenate<Tensor>({parameters}),
                             concatenate<Tensor>({results, out.saved}), Effects::kForward);
  out.backward = slice_region(region, concatenate<Tensor>({needed, out.saved, cotangents}),
                              concatenate<Tensor>({gradients}), Effects::kBackward);
  return out;
}

Values spread_input_cotangents(const Joint& joint, const Values& computed) {
  Values out;
  for (const int i : joint.input_cotangent)
    out.push_back(i < 0 ? Tensor() : computed[static_cast<size_t>(i) - joint.num_results]);
  return out;
}

Values gather_cotangents(const Joint& joint, const Values& cotangents) {
  Values out;
  for (const size_t i : joint.cotangent_of)
    out.push_back(instantiate(cotangents[i], joint.region->results()[i].type()));
  return out;
}

std::string explain_residuals(const std::function<Values(const Values&)>& fn,
                              const std::vector<Type>& types) {
  const auto region = trace(fn, types);
  const Joint joint = make_joint(*region, std::vector<bool>(types.size(), true),
                                 std::vector<bool>(region->results().size(), true));
  std::string out;
  for (const Tensor& t : residuals(joint, nullptr)) {
    std::string what = t.is_parameter() ? "argument" : std::string(t.node()->rules->name());
    if (!t.is_parameter() && t.node()->attributes && what == "name")
      what += " " + t.node()->attributes->text();
    out += fmt::format("{} {} @{}\n", to_text(t.type()), what,
                       t.node()->scope ? *t.node()->scope : "");
  }
  return out;
}

}  // namespace axle
