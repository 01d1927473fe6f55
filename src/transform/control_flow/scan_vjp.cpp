// Reverse mode through scan: a forward scan that also stacks the residuals, and a backward scan
// over them.
//
// A residual that is a const or a slice of xs is not stacked: the backward scan reads the original
// tensor, so that stacked weights are not stored twice. Residuals that depend only on consts are
// computed once, outside of both loops.
#include "base/lists.h"
#include "ops/create.h"
#include "transform/bodies.h"
#include "transform/control_flow/loop_ops.h"
#include "transform/linearize.h"
#include "transform/partition.h"
#include "transform/trace.h"

namespace axle {
namespace {

ValueSet loop_invariant(const Region& joint, size_t num_consts) {
  const std::span consts = std::span(joint.parameters()).first(num_consts);
  ValueSet out(consts);
  for (const OpNode* op : joint.ops()) {
    if (!std::ranges::all_of(op->inputs, [&](const Tensor& t) { return out.contains(t); }))
      continue;
    for (const Tensor& t : op->results()) out.insert(t);
  }
  return out;
}

// How the backward loop gets each residual.
struct ScanPlan {
  std::vector<size_t> consts, xs;  // indices of the parameters that the backward loop reads
  Values const_values, xs_values;  // these parameters, as values of the joint region
  Values hoisted;                  // residuals computed once, from consts
  Values stacked;                  // residuals that the forward loop computes in each iteration
};

ScanPlan plan_residuals(const Joint& joint, const ScanAttributes& a) {
  ScanPlan plan;
  const Region& region = *joint.region;
  const ValueSet invariant = loop_invariant(region, a.num_consts);
  for (const Tensor& t : residuals(joint, nullptr)) {
    if (!t.is_parameter()) {
      (invariant.contains(t) ? plan.hoisted : plan.stacked).push_back(t);
      continue;
    }
    const auto it =
        std::ranges::find_if(region.parameters(), [&](const Tensor& p) { return same(p, t); });
    const auto i = static_cast<size_t>(it - region.parameters().begin());
    if (i < a.num_consts) {
      plan.consts.push_back(i);
      plan.const_values.push_back(t);
    } else if (i >= a.num_consts + a.num_carries) {
      plan.xs.push_back(i);
      plan.xs_values.push_back(t);
    } else {
      plan.stacked.push_back(t);
    }
  }
  return plan;
}

// Returns the body of the backward loop.
//   Parameters, as consts of the loop:  consts, hoisted
//   Parameters, as carries:             sums of the const cotangents, carry cotangents
//   Parameters, as xs:                  stacked, xs, cotangents of ys
//   Results:                            the carries, then the cotangents of xs
std::shared_ptr<Region> backward_body(const Joint& joint, const ScanPlan& plan,
                                      const ScanAttributes& a) {
  const Region& region = *joint.region;
  const size_t num_fixed = plan.const_values.size() + plan.hoisted.size();
  Values carry_cotangents, ys_cotangents;
  for (size_t i = 0; i < joint.cotangent_of.size(); ++i) {
    (joint.cotangent_of[i] < a.num_carries ? carry_cotangents : ys_cotangents)
        .push_back(region.parameters()[joint.num_parameters + i]);
  }
  const Values inputs = concatenate<Tensor>({plan.const_values, plan.hoisted, carry_cotangents,
                                             plan.stacked, plan.xs_values, ys_cotangents});
  const Values gradients =
      concatenate<Tensor>({std::span(region.results()).subspan(joint.num_results)});
  const auto core = slice_region(region, inputs, gradients, Effects::kBackward);

  std::vector<size_t> const_gradients;  // positions among `gradients`
  for (size_t i = 0; i < a.num_consts; ++i) {
    if (joint.input_cotangent[i] >= 0)
      const_gradients.push_back(static_cast<size_t>(joint.input_cotangent[i]) - joint.num_results);
  }
  std::vector<Type> types;
  for (size_t i = 0; i < num_fixed; ++i) types.push_back(inputs[i].type());
  for (const size_t i : const_gradients) types.push_back(gradients[i].type());
  for (size_t i = num_fixed; i < inputs.size(); ++i) types.push_back(inputs[i].type());
  return trace(
      [&](const Values& p) {
        const std::span fixed = std::span(p).first(num_fixed);
        const std::span sums = std::span(p).subspan(num_fixed, const_gradients.size());
        const std::span rest = std::span(p).subspan(num_fixed + const_gradients.size());
        const Values g = inline_region(*core, concatenate<Tensor>({fixed, rest}));
        Values out;
        for (size_t i = 0; i < const_gradients.size(); ++i)
          out.push_back(add_cotangents(sums[i], g[const_gradients[i]]));
        for (size_t i = const_gradients.size(); i < g.size(); ++i)
          out.push_back(g[i]);  // carries, then xs, as in the order of parameters
        return out;
      },
      types);
}

}  // namespace

Linearized linearize_scan(const OpNode& op, const Values& inputs,
                          const std::vector<bool>& inputs_active) {
  const auto a = op.attrs<ScanAttributes>();
  const std::vector<bool> active = marks_through_trips(
      flow_of(op), inputs_active, [&](size_t, const std::vector<bool>& parameters) {
        return active_results(op.region(), parameters);
      });
  const size_t num_ys = op.region().results().size() - a.num_carries;
  std::vector<bool> wants(a.num_carries + num_ys, true), force(active.size(), false);
  // The backward loop carries the cotangents of the active carries. So each of them goes in and
  // comes out, also if the body replaces such a carry by something that is not differentiated.
  std::vector<bool> carried(wants.size(), false);
  for (size_t i = 0; i < a.num_carries; ++i) {
    wants[i] = active[a.num_consts + i];
    carried[i] = force[a.num_consts + i] =
        active[a.num_consts + i] && is_differentiable(op.region().results()[i].type().dtype);
  }
  const Joint joint = make_joint(op.region(), active, wants, force, carried);
  const Region& region = *joint.region;
  const ScanPlan plan = plan_residuals(joint, a);

  const Values parameters =
      concatenate<Tensor>({std::span(region.parameters()).first(joint.num_parameters)});
  Values forward_results =
      concatenate<Tensor>({std::span(region.results()).first(joint.num_results)});
  std::vector<size_t>
      stacked_at;  // where each stacked residual lies among the results of the forward loop
  for (const Tensor& t : plan.stacked) {
    size_t at = a.num_carries;
    while (at < forward_results.size() && !same(forward_results[at], t)) ++at;
    stacked_at.push_back(at);
    if (at == forward_results.size()) forward_results.push_back(t);
  }
  const Values forward =
      emit_scan(slice_region(region, parameters, forward_results, Effects::kForward), inputs, a);
  const Values const_parameters = concatenate<Tensor>({std::span(parameters).first(a.num_consts)});
  const Values const_inputs = concatenate<Tensor>({std::span(inputs).first(a.num_consts)});
  const Values hoisted = inline_region(
      *slice_region(region, const_parameters, plan.hoisted, Effects::kNone), const_inputs);

  auto pullback = [=, body = backward_body(joint, plan, a)](const Values& cotangents) {
    Values in;
    for (const size_t i : plan.consts) in.push_back(inputs[i]);
    in.insert(in.end(), hoisted.begin(), hoisted.end());
    const size_t num_fixed = in.size();
    for (size_t i = 0; i < a.num_consts; ++i) {
      if (joint.input_cotangent[i] >= 0) in.push_back(zeros(inputs[i].shape(), inputs[i].dtype()));
    }
    Values ys;
    for (const size_t i : joint.cotangent_of) {
      const Tensor g = instantiate(cotangents[i], forward[i].type());
      if (i < a.num_carries)
        in.push_back(g);
      else
        ys.push_back(g);
    }
    const size_t num_carried = in.size() - num_fixed;
    for (const size_t i : stacked_at) in.push_back(forward[i]);
    for (const size_t i : plan.xs) in.push_back(inputs[i]);
    in.insert(in.end(), ys.begin(), ys.end());
    ScanAttributes attributes(num_fixed, num_carried, a.length, !a.reverse, a.unroll);
    attributes.may_keep_values = a.may_keep_values;
    return spread_input_cotangents(joint, emit_scan(body, in, attributes));
  };
  return {concatenate<Tensor>({std::span(forward).first(op.outputs.size())}), std::move(pullback)};
}

}  // namespace axle
