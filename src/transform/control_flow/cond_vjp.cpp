#include "transform/control_flow/cond_vjp.h"

#include <algorithm>

#include "base/lists.h"
#include "ops/create.h"
#include "transform/control_flow/cond_op.h"
#include "transform/control_flow/cond_slots.h"
#include "transform/linearize.h"
#include "transform/remat/partition.h"
#include "transform/trace.h"

namespace axle {
namespace {

using Indices = std::vector<size_t>;

size_t position(const Indices& list, size_t i) {
  return static_cast<size_t>(std::ranges::find(list, i) - list.begin());
}

void add_new(Indices& list, size_t i) {
  if (position(list, i) == list.size()) list.push_back(i);
}

// What all branches together need.
struct CondPlan {
  std::vector<Halves> branches;
  std::vector<Type> slots;       // types of the shared residuals
  std::vector<Indices> slot_of;  // for each branch and each of its residuals
  Indices needed;                // parameters that some backward half reads
  Indices wanted;                // results whose cotangent some backward half reads
  Indices gradients;             // parameters to which some backward half gives a cotangent
};

CondPlan plan_branches(const OpNode& op, const std::vector<bool>& active) {
  CondPlan plan;
  const std::vector<bool> wants(op.outputs.size(), true);
  for (const auto& branch : op.regions) {
    Halves halves = split(make_joint(*branch, active, wants), nullptr);
    Indices own;
    for (const Tensor& t : halves.saved) own.push_back(take_slot(plan.slots, t.type(), own));
    for (const size_t i : halves.needed) add_new(plan.needed, i);
    for (const size_t i : halves.joint.cotangent_of) add_new(plan.wanted, i);
    for (size_t i = 0; i < halves.joint.input_cotangent.size(); ++i) {
      if (halves.joint.input_cotangent[i] >= 0) add_new(plan.gradients, i);
    }
    plan.slot_of.push_back(std::move(own));
    plan.branches.push_back(std::move(halves));
  }
  return plan;
}

// Parameters: needed, slots, cotangents of the wanted results. Results: the gradients.
std::shared_ptr<const Region> backward_branch_of(const CondPlan& plan, size_t branch,
                                                 const std::vector<Type>& types) {
  const Halves& halves = plan.branches[branch];
  return trace(
      [&](const Values& parameters) {
        Values in;
        for (const size_t i : halves.needed) in.push_back(parameters[position(plan.needed, i)]);
        for (const size_t slot : plan.slot_of[branch])
          in.push_back(parameters[plan.needed.size() + slot]);
        const size_t num_kept = plan.needed.size() + plan.slots.size();
        for (const size_t i : halves.joint.cotangent_of)
          in.push_back(parameters[num_kept + position(plan.wanted, i)]);
        const Values found =
            spread_input_cotangents(halves.joint, inline_region(*halves.backward, in));
        Values out;
        for (const size_t i : plan.gradients)
          out.push_back(instantiate(found[i], halves.forward->parameters()[i].type()));
        return out;
      },
      types);
}

}  // namespace

Linearized linearize_cond(const OpNode& op, const Values& inputs, const std::vector<bool>& active) {
  // The first operand is the index; the branches take the others.
  const CondPlan plan = plan_branches(op, std::vector<bool>(active.begin() + 1, active.end()));
  std::vector<std::shared_ptr<const Region>> branches;
  for (size_t i = 0; i < plan.branches.size(); ++i)
    branches.push_back(forward_branch(plan.branches[i], plan.slots, plan.slot_of[i]));
  const Values forward = emit_cond(std::move(branches), inputs);
  const size_t num_results = op.outputs.size();
  auto pullback = [=, result_types = op.outputs](const Values& cotangents) {
    Values in{inputs[0]};
    for (const size_t i : plan.needed) in.push_back(inputs[1 + i]);
    in = concatenate<Tensor>({in, std::span(forward).subspan(num_results)});
    for (const size_t i : plan.wanted) in.push_back(instantiate(cotangents[i], result_types[i]));
    const std::vector<Type> types = types_of(concatenate<Tensor>({std::span(in).subspan(1)}));
    std::vector<std::shared_ptr<const Region>> backward;
    for (size_t i = 0; i < plan.branches.size(); ++i)
      backward.push_back(backward_branch_of(plan, i, types));
    const Values found = emit_cond(std::move(backward), std::move(in));
    Values out(inputs.size());
    for (size_t i = 0; i < found.size(); ++i) out[1 + plan.gradients[i]] = found[i];
    return out;
  };
  return {concatenate<Tensor>({std::span(forward).first(num_results)}), std::move(pullback)};
}

}  // namespace axle
