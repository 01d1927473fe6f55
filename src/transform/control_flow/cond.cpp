#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/bodies.h"
#include "transform/control_flow/control_flow.h"
#include "transform/control_flow/loop_ops.h"
#include "transform/linearize.h"
#include "transform/partition.h"
#include "transform/trace.h"

namespace axle {
namespace {

// Emits a cond over closed branches. The first input is the index. The others are the arguments of
// every branch.
Values emit_cond(Regions branches, Values inputs);

// The op's first operand is the index. Its regions are the branches, which take the other operands.
std::vector<Type> infer_cond(const OpNode& op) {
  if (op.inputs.empty() || op.regions.empty())
    shape_error(op, "expected an index and at least one branch");
  std::vector<Type> arguments = types_of(op.inputs);
  if (arguments[0] != Type{DType::kI32, {}})
    shape_error(op, fmt::format("expected an i32 scalar as index, got {}", to_text(arguments[0])));
  arguments.erase(arguments.begin());
  for (size_t i = 0; i < op.regions.size(); ++i) {
    check_parameters(op, i, arguments);
    check_branch("cond", i, op.region().results(), op.region(i).results());
  }
  return types_of(op.region().results());
}

void eval_cond(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y) {
  const auto last = static_cast<int32_t>(op.regions.size()) - 1;
  const int32_t index = std::clamp(x[0]->values<int32_t>()[0], 0, last);
  const Region& branch = op.region(static_cast<size_t>(index));
  std::ranges::move(evaluate_borrowing(branch, x.subspan(1), options), y.begin());
}

HloValues lower_cond(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const HloValues operands(x.begin() + 1, x.end());
  std::vector<HloRegion> branches;
  for (const auto& region : op.regions) {
    branches.push_back({{}, [&b, &operands, region = region.get()](const HloValues&) {
                          return b.inline_region(*region, operands);
                        }});
  }
  return b.op("stablehlo.case", {x[0]}, op.outputs, {}, branches);
}

// Returns true for the examples that take the branch. An index beyond the branches takes the
// nearest.
Tensor takes_branch(const Tensor& index, size_t branch, size_t num_branches) {
  const auto i = static_cast<int64_t>(branch);
  if (num_branches == 1) return full(index.shape(), 1, DType::kPred);
  if (branch == 0) return index <= i;
  return branch + 1 == num_branches ? index >= i : equal(index, i);
}

// Returns the operands of a branch that all examples run. The examples that take another branch get
// the same numbers, but no gradient: that of a branch they do not take may be infinite, and the
// zeros that it is multiplied by would make it NaN.
std::vector<Batched> operands_of_takers(std::vector<Batched> operands, const Tensor& takes,
                                        const BatchAxis& axis) {
  for (Batched& x : operands) {
    if (!is_differentiable(x.value.dtype())) continue;
    const Tensor whole = with_batch_dims({&x, 1}, axis)[0];
    x = {select_examples(takes, whole, stop_gradient(whole)), true};
  }
  return operands;
}

// With one index for all examples, the branches are batched. Otherwise all branches run, and each
// example selects its results.
std::vector<Batched> batch_cond(BatchX x) {
  const OpNode& op = x.op();
  if (!x.is_batched(0)) return batch_flow(x);
  const std::vector<Batched> operands(x.values().begin() + 1, x.values().end());
  if (op.regions.size() == 1) return batch_region(op.region(), operands, x.axis());
  Values out;
  for (size_t i = op.regions.size(); i-- > 0;) {
    const Tensor takes = takes_branch(x[0], i, op.regions.size());
    const Values own = with_batch_dims(
        batch_region(*op.regions[i], operands_of_takers(operands, takes, x.axis()), x.axis()),
        x.axis());
    if (out.empty()) {
      out = own;
      continue;
    }
    const Tensor is_chosen = x[0] <= static_cast<int64_t>(i);
    for (size_t r = 0; r < out.size(); ++r) out[r] = select_examples(is_chosen, own[r], out[r]);
  }
  return all_batched(out);
}

// The branch that costs most.
template <double (*kCost)(const Region&)>
double largest_cost(const OpNode& op) {
  double most = 0;
  for (const auto& region : op.regions) most = std::max(most, kCost(*region));
  return most;
}

BodyFlow flow_of_cond(const OpNode& op) {
  const RegionFlow branch{.parameters = ports(op.inputs.size() - 1, Flow::kWhole, 1),
                          .results = ports(op.outputs.size()),
                          .trips = {.count = std::nullopt}};
  return {std::vector<RegionFlow>(op.regions.size(), branch), Port{}};
}

Values emit_cond_like(const OpNode&, const BodyFlow& flow, Regions regions,
                      const Values& operands) {
  std::vector<Type> types;  // of all results of the branches
  for (size_t r = 0; r < regions.size(); ++r) {
    for (size_t i = 0; i < flow.regions[r].results.size(); ++i) {
      const size_t at = flow.regions[r].results[i].at;
      types.resize(std::max(types.size(), at + 1));
      types[at] = regions[r]->results()[i].type();
    }
  }
  const std::vector<bool> returned = returned_results(flow);
  for (size_t r = 0; r < regions.size(); ++r) {
    const std::vector<Port>& own = flow.regions[r].results;
    if (std::ranges::count(returned, true) == std::ssize(own)) continue;
    regions[r] = trace(
        [&](const Values& p) {
          const Values computed = inline_region(*regions[r], p);
          Values out;
          for (size_t i = 0; i < types.size(); ++i)
            out.push_back(returned[i] ? zeros(types[i].dims, types[i].dtype) : Tensor());
          for (size_t i = 0; i < own.size(); ++i) out[own[i].at] = computed[i];
          return selected(out, returned);
        },
        types_of(regions[r]->parameters()));
  }
  return emit_cond(std::move(regions),
                   concatenate<Tensor>({std::span(operands).first(1),
                                        at_ports(operands, flow.regions[0].parameters)}));
}

Widened widen_cond(const OpNode& op, const Values& operands, const Regions& regions, int64_t) {
  Widened out = widen_by_emit(op, operands, regions);
  for (size_t i = 0; i < regions.size(); ++i)
    out.ran[i] = takes_branch(operands[0], i, regions.size());
  return out;
}

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

// Splits each branch into a forward and a backward half. Residuals of different branches share a
// result of the forward cond if they have the same type.
Linearized linearize_cond(const OpNode& op, const Values& inputs, const std::vector<bool>& active) {
  // The first operand is the index; the branches take the others.
  const CondPlan plan = plan_branches(op, std::vector<bool>(active.begin() + 1, active.end()));
  const size_t num_results = op.outputs.size();
  BodyFlow flow = flow_of_cond(op);
  Regions branches;
  for (size_t i = 0; i < plan.branches.size(); ++i) {
    branches.push_back(plan.branches[i].forward);
    for (const size_t slot : plan.slot_of[i])
      flow.regions[i].results.push_back({.at = num_results + slot});
  }
  const Values forward = emit_like(op, flow, branches, inputs);
  auto pullback = [=, result_types = op.outputs](const Values& cotangents) {
    Values in{inputs[0]};
    for (const size_t i : plan.needed) in.push_back(inputs[1 + i]);
    in = concatenate<Tensor>({in, std::span(forward).subspan(num_results)});
    for (const size_t i : plan.wanted) in.push_back(instantiate(cotangents[i], result_types[i]));
    const std::vector<Type> types = types_of(concatenate<Tensor>({std::span(in).subspan(1)}));
    Regions backward;
    for (size_t i = 0; i < plan.branches.size(); ++i)
      backward.push_back(backward_branch_of(plan, i, types));
    const Values found = emit_cond(std::move(backward), std::move(in));
    Values out(inputs.size());
    for (size_t i = 0; i < found.size(); ++i) out[1 + plan.gradients[i]] = found[i];
    return out;
  };
  return {concatenate<Tensor>({std::span(forward).first(num_results)}), std::move(pullback)};
}

const OpRules cond_rules({.name = "cond",
                          .infer = infer_cond,
                          .batch = batch_cond,
                          .linearize = linearize_cond,
                          .body = {flow_of_cond, emit_cond_like, widen_cond},
                          .eval = eval_cond,
                          .hlo = lower_cond,
                          .cost = {largest_cost<region_flops>, largest_cost<region_bytes>}});

Values emit_cond(Regions branches, Values inputs) {
  return emit_all(cond_rules, std::move(inputs), {}, std::move(branches));
}

}  // namespace

Values switch_case(const Tensor& index, const std::vector<TensorFunction>& branches,
                   const Values& arguments) {
  if (branches.empty()) shape_error("cond", "expected at least one branch, got none", {index});
  std::vector<ClosedRegion> traced;
  Values captures;
  for (const TensorFunction& branch : branches) {
    traced.push_back(trace_closed(branch, types_of(arguments)));
    const Values& results = traced.back().region->results();
    const Values& first = traced.front().region->results();
    check_branch("cond", traced.size() - 1, first, results);
    for (const Tensor& t : traced.back().captures) {
      const auto is_same = [&](const Tensor& other) { return same(t, other); };
      if (std::ranges::none_of(captures, is_same)) captures.push_back(t);
    }
  }
  // Every branch gets the tensors that any of them captures.
  const Values operands = concatenate<Tensor>({captures, arguments});
  Regions regions;
  for (const ClosedRegion& branch : traced) {
    regions.push_back(trace(
        [&](const Values& parameters) {
          const Copies copies(captures,
                              concatenate<Tensor>({std::span(parameters).first(captures.size())}));
          return inline_region(
              *branch.region,
              concatenate<Tensor>(
                  {copies.all(branch.captures), std::span(parameters).subspan(captures.size())}));
        },
        types_of(operands)));
  }
  return emit_cond(std::move(regions), concatenate<Tensor>({Values{index}, operands}));
}

Values cond(const Tensor& predicate, const TensorFunction& if_true, const TensorFunction& if_false,
            const Values& arguments) {
  if (predicate.type() != Type{DType::kPred, {}})
    shape_error("cond", "expected a pred scalar as condition", {predicate});
  return switch_case(astype(predicate, DType::kI32), {if_false, if_true}, arguments);
}

}  // namespace axle
