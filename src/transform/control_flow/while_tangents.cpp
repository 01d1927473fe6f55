#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "ops/rules.h"
#include "transform/bodies.h"
#include "transform/control_flow/loop_ops.h"
#include "transform/grad.h"
#include "transform/linearize.h"
#include "transform/trace.h"

namespace axle {
namespace {

// A while loop without its operands.
struct Loop {
  WhileAttributes attributes;
  std::shared_ptr<const Region> condition, body;
};

Loop loop_of(const OpNode& op) {
  return {op.attrs<WhileAttributes>(), op.regions[0], op.regions[1]};
}

[[noreturn]] void fail_reverse(const OpNode& op) {
  shape_error(
      op,
      "expected a loop with a known number of iterations in reverse mode, got a while "
      "loop; use scan, fori_loop with bounds that are numbers, or bounded_while with max_steps");
}

// Operands of the loop with tangents: the consts of the condition, those of the body, their
// tangents, the carry, its tangents.
PushedForward push_loop_forward(const Loop& loop, const Values& inputs, const Values& tangents) {
  const WhileAttributes& a = loop.attributes;
  const size_t first_const = a.num_condition_consts, num_consts = a.num_body_consts;
  const std::span given(inputs);
  std::vector<bool> has_tangent;
  for (const Tensor& t : tangents) has_tangent.push_back(static_cast<bool>(t));
  const BodyFlow flow = flow_of_while(a, loop.body->results().size());
  const std::vector<bool> moved =
      at_ports(marks_through_trips(flow, has_tangent,
                                   [&](size_t r, const std::vector<bool>& parameters) {
                                     return active_results(r == 0 ? *loop.condition : *loop.body,
                                                           parameters);
                                   }),
               flow.regions[1].parameters);  // of the body
  Values of_consts, of_carry;
  for (size_t i = 0; i < moved.size(); ++i) {
    if (!moved[i]) continue;
    (i < num_consts ? of_consts : of_carry)
        .push_back(instantiate(tangents[first_const + i], inputs[first_const + i].type()));
  }
  const std::span carry = given.subspan(a.num_consts());
  const size_t num_carries = carry.size();
  const Values operands =
      concatenate<Tensor>({given.first(a.num_consts()), of_consts, carry, of_carry});
  const std::vector<Type> types = types_of(operands);
  const size_t first_carry = a.num_consts() + of_consts.size();

  std::vector<Type> of_condition(types.begin(),
                                 types.begin() + static_cast<ptrdiff_t>(first_const));
  of_condition.insert(of_condition.end(), types.begin() + static_cast<ptrdiff_t>(first_carry),
                      types.end());
  auto condition = trace(
      [&](const Values& p) {
        return inline_region(*loop.condition,
                             concatenate<Tensor>({std::span(p).first(first_const + num_carries)}));
      },
      of_condition);
  auto body = trace(
      [&](const Values& p) {
        const std::span all(p);
        const std::span carried = all.subspan(num_consts + of_consts.size());
        const Values own = concatenate<Tensor>({all.first(num_consts), carried.first(num_carries)});
        const Values directions =
            spread_results(concatenate<Tensor>({all.subspan(num_consts, of_consts.size()),
                                                carried.subspan(num_carries)}),
                           moved);
        auto [next, derivatives] =
            jvp([&](const Values& x) { return inline_region(*loop.body, x); }, own, directions);
        for (size_t i = 0; i < num_carries; ++i) {
          if (moved[num_consts + i]) next.push_back(derivatives[i]);
        }
        return next;
      },
      {types.begin() + static_cast<ptrdiff_t>(first_const), types.end()});
  const Values last = emit_while(std::move(condition), std::move(body), operands,
                                 WhileAttributes(first_const, num_consts + of_consts.size()));
  const std::vector<bool> moved_carries(moved.begin() + static_cast<ptrdiff_t>(num_consts),
                                        moved.end());
  return {
      concatenate<Tensor>({std::span(last).first(num_carries)}),
      spread_results(concatenate<Tensor>({std::span(last).subspan(num_carries)}), moved_carries)};
}

// Maps the operands of a while loop and the cotangents of its differentiable results to the
// cotangents of the operands in `active`.
struct WhilePullbackAttributes : Attributes {
  WhilePullbackAttributes(Loop of, std::vector<bool> marks)
      : loop(std::move(of)), active(std::move(marks)) {}
  Loop loop;
  std::vector<bool> active;
  // Different loops have different texts, so that none stands for another.
  std::string text() const override {
    std::string marks;
    for (const bool is_active : active) marks += is_active ? '1' : '0';
    return fmt::format("{}, active = {}, body = {}", loop.attributes.text(), marks,
                       static_cast<const void*>(loop.body.get()));
  }
};

std::vector<Type> infer_while_pullback(const OpNode& op) {
  const auto& a = op.attrs<WhilePullbackAttributes>();
  return selected(types_of({op.inputs.begin(), op.inputs.begin() + std::ssize(a.active)}),
                  a.active);
}

Linearized linearize_while_pullback(const OpNode& op, const Values& inputs,
                                    const std::vector<bool>& active) {
  const auto& a = op.attrs<WhilePullbackAttributes>();
  const auto num_operands = std::ssize(a.active);
  // jvp moves the cotangents alone. There the operands look active where a barrier ties them to
  // the cotangents, as remat does, but they do not move.
  const bool is_linear = TransposedOnly::is_on() ||
                         std::count(active.begin(), active.begin() + num_operands, true) == 0;
  auto pullback = [&op, inputs, is_linear](const Values& of_operands) {
    if (!is_linear) fail_reverse(op);
    const Loop& loop = op.attrs<WhilePullbackAttributes>().loop;
    const std::vector<bool>& marks = op.attrs<WhilePullbackAttributes>().active;
    const Values operands(inputs.begin(), inputs.begin() + std::ssize(marks));
    const PushedForward pushed =
        push_loop_forward(loop, operands, spread_results(of_operands, marks));
    Values out(operands.size());
    for (size_t i = 0; i < pushed.outputs.size(); ++i) {
      if (is_differentiable(pushed.outputs[i].dtype())) out.push_back(pushed.tangents[i]);
    }
    return out;
  };
  return {emit_all(*op.rules, inputs, op.attributes), std::move(pullback)};
}

// A value that remains is one that reverse mode needs.
std::vector<Batched> batch_while_pullback(BatchX x) { fail_reverse(x.op()); }
HloValues lower_while_pullback(const OpNode& op, HloBuilder&, const HloValues&) {
  fail_reverse(op);
}

const OpRules while_pullback_rules({.name = "while_pullback",
                                    .infer = infer_while_pullback,
                                    .batch = batch_while_pullback,
                                    .linearize = linearize_while_pullback,
                                    .eval = [](const EvalOptions&, const OpNode& op,
                                               std::span<const HostTensor* const>,
                                               std::span<HostTensor>) { fail_reverse(op); },
                                    .hlo = lower_while_pullback,
                                    .cost = kNoFlops});

}  // namespace

PushedForward push_forward_while(const OpNode& op, const Values& inputs, const Values& tangents) {
  return push_loop_forward(loop_of(op), inputs, tangents);
}

Linearized linearize_while(const OpNode& op, const Values& inputs,
                           const std::vector<bool>& active) {
  if (!TransposedOnly::is_on()) fail_reverse(op);
  const Loop loop = loop_of(op);
  std::vector<bool> marks;
  for (size_t i = 0; i < inputs.size(); ++i) {
    marks.push_back(active[i] && is_differentiable(inputs[i].dtype()) &&
                    i >= loop.attributes.num_condition_consts);
  }
  Values outputs = emit_all(*op.rules, inputs, op.attributes, op.regions);
  auto pullback = [=](const Values& cotangents) {
    Values operands = inputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (is_differentiable(outputs[i].dtype()))
        operands.push_back(instantiate(cotangents[i], outputs[i].type()));
    }
    return spread_results(emit_all(while_pullback_rules, operands,
                                   std::make_shared<const WhilePullbackAttributes>(loop, marks)),
                          marks);
  };
  return {outputs, std::move(pullback)};
}

}  // namespace axle
