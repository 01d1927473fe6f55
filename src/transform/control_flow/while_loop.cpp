#include <fmt/format.h>

#include "base/lists.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/bodies.h"
#include "transform/control_flow/control_flow.h"
#include "transform/control_flow/loop_ops.h"
#include "transform/trace.h"

namespace axle {
namespace {

const Region& condition_of(const OpNode& op) { return op.region(0); }
const Region& body_of(const OpNode& op) { return op.region(1); }

// The arguments of the condition and of the body, from consts and a carry.
template <class T>
std::vector<T> condition_arguments(const WhileAttributes& a, std::span<const T> inputs) {
  return concatenate<T>({inputs.first(a.num_condition_consts), inputs.subspan(a.num_consts())});
}
template <class T>
std::vector<T> body_arguments(const WhileAttributes& a, std::span<const T> inputs) {
  return concatenate<T>({inputs.subspan(a.num_condition_consts)});
}

std::vector<Type> infer_while(const OpNode& op) {
  const auto& a = op.attrs<WhileAttributes>();
  check_num_regions(op, 2);
  if (op.inputs.size() < a.num_consts()) {
    shape_error(
        op, fmt::format("expected {} consts, got {} operands", a.num_consts(), op.inputs.size()));
  }
  const std::vector<Type> types = types_of(op.inputs);
  check_parameters(op, 0, condition_arguments<Type>(a, types));
  check_parameters(op, 1, body_arguments<Type>(a, types));
  check_condition("while", condition_of(op).results());
  check_carry("while", {}, concatenate<Tensor>({std::span(op.inputs).subspan(a.num_consts())}),
              body_of(op).results());
  return types_of(body_of(op).results());
}

void eval_while(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
                std::span<HostTensor> y) {
  const auto& a = op.attrs<WhileAttributes>();
  std::vector<HostTensor> state;
  for (const HostTensor* t : x) state.push_back(*t);
  const auto goes_on = [&] {
    return evaluate(condition_of(op), condition_arguments<HostTensor>(a, state), options)[0]
        .values<bool>()[0];
  };
  while (goes_on()) {
    std::vector<HostTensor> next =
        evaluate(body_of(op), body_arguments<HostTensor>(a, state), options);
    std::ranges::move(next, state.begin() + a.num_consts());
  }
  std::ranges::move(std::span(state).subspan(a.num_consts()), y.begin());
}

// HLO loops capture nothing, so the consts are carried too.
HloValues lower_while(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const auto& a = op.attrs<WhileAttributes>();
  std::vector<Type> types;
  for (const HloValue& v : x) types.push_back(v.type);
  const auto condition = [&](const HloValues& s) {
    return b.inline_region(condition_of(op), condition_arguments<HloValue>(a, s));
  };
  const auto body = [&](const HloValues& s) {
    return concatenate<HloValue>({std::span(s).first(a.num_consts()),
                                  b.inline_region(body_of(op), body_arguments<HloValue>(a, s))});
  };
  const HloValues last = b.op("stablehlo.while", x, types, {}, {{types, condition}, {types, body}});
  return concatenate<HloValue>({std::span(last).subspan(a.num_consts())});
}

// Returns the marks of the inputs, with every carry that some iteration batches. If the condition
// is batched, all carries are: each example stops by itself.
std::vector<bool> batched_through_while(const OpNode& op, std::vector<bool> batched) {
  bool stops_by_itself = false;
  return marks_through_trips(
      flow_of(op), std::move(batched), [&](size_t r, const std::vector<bool>& parameters) {
        std::vector<bool> results = batched_results(op.region(r), parameters);
        if (r == 0) stops_by_itself = results[0];
        if (r == 1 && stops_by_itself) results.assign(results.size(), true);
        return results;
      });
}

std::vector<Batched> batch_while(BatchX x) {
  const OpNode& op = x.op();
  const auto& a = op.attrs<WhileAttributes>();
  const std::vector<bool> batched = batched_through_while(op, batched_marks(x.values()));
  Values inputs = operands_of(x);
  std::vector<Type> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i >= a.num_consts() && batched[i])
      inputs[i] = with_batch_dims(x.values().subspan(i, 1), x.axis())[0];
    types.push_back(inputs[i].type());
  }
  const auto goes_on = [&](const Values& state) {
    const auto all = with_marks(state, batched);
    return batch_region(condition_of(op), condition_arguments<Batched>(a, all), x.axis())[0];
  };
  // Both regions take all consts here: the body asks each example whether it goes on.
  const auto condition = trace(
      [&](const Values& state) {
        const Batched each = goes_on(state);
        return Values{each.is_batched ? reduce_or(each.value, {0}) : each.value};
      },
      types);
  const auto body = trace(
      [&](const Values& state) {
        const auto all = with_marks(state, batched);
        const Batched each = goes_on(state);
        std::vector<Batched> next =
            batch_region(body_of(op), body_arguments<Batched>(a, all), x.axis());
        Values out;
        for (size_t i = 0; i < next.size(); ++i) {
          const size_t carry = a.num_consts() + i;
          Tensor value = next[i].value;
          if (batched[carry]) value = with_batch_dims({&next[i], 1}, x.axis())[0];
          out.push_back(each.is_batched ? select_examples(each.value, value, state[carry]) : value);
        }
        return out;
      },
      types);
  // The attributes of an op whose two regions share all consts: the consts are given twice.
  const std::span consts = std::span(inputs).first(a.num_consts());
  const Values both = concatenate<Tensor>({consts, inputs});
  return with_marks(
      emit_while(condition, body, both, WhileAttributes(a.num_consts(), a.num_consts())),
      std::vector<bool>(batched.begin() + a.num_consts(), batched.end()));
}

// The number of iterations is not known: the costs of one.
double while_flops(const OpNode& op) {
  return region_flops(condition_of(op)) + region_flops(body_of(op));
}
double while_bytes(const OpNode& op) {
  return region_bytes(condition_of(op)) + region_bytes(body_of(op));
}

BodyFlow flow_of_this(const OpNode& op) {
  return flow_of_while(op.attrs<WhileAttributes>(), op.outputs.size());
}

Values emit_while_like(const OpNode&, const BodyFlow& flow, Regions regions,
                       const Values& operands) {
  const auto &condition = flow.regions[0].parameters, &body = flow.regions[1].parameters;
  const WhileAttributes a(count_ports(condition, Flow::kWhole), count_ports(body, Flow::kWhole));
  const Values of_condition = at_ports(operands, condition);
  return emit_while(regions[0], regions[1],
                    concatenate<Tensor>({std::span(of_condition).first(a.num_condition_consts),
                                         at_ports(operands, body)}),
                    a);
}

// The loop also carries the number of its iterations so far, and a buffer for each extra value.
Widened widen_while(const OpNode& op, const Values& inputs, const Regions& regions,
                    int64_t max_trips) {
  const auto& a = op.attrs<WhileAttributes>();
  const size_t num_carries = op.outputs.size();
  Values state = inputs;
  state.push_back(scalar(0, DType::kI32));
  for (const Tensor& value : std::span(regions[1]->results()).subspan(num_carries)) {
    Shape dims = value.shape();
    dims.insert(dims.begin(), max_trips);
    state.push_back(zeros(dims, value.dtype()));
  }
  const std::vector<Type> types = types_of(state);
  const auto run = [&](size_t region, const Values& p, size_t num_consts) {
    return inline_region(*regions[region],
                         concatenate<Tensor>({std::span(p).first(num_consts + num_carries)}));
  };
  const auto condition = trace([&](const Values& p) { return run(0, p, a.num_condition_consts); },
                               condition_arguments<Type>(a, types));
  const auto body = trace(
      [&](const Values& p) {
        const Values computed = run(1, p, a.num_body_consts);
        const auto own = std::span(p).subspan(a.num_body_consts + num_carries);
        const Tensor& count = own[0];
        const Tensor is_kept = count < max_trips;
        Values out = concatenate<Tensor>({std::span(computed).first(num_carries)});
        out.push_back(count + 1);
        for (size_t i = 1; i < own.size(); ++i) {
          const Tensor& value = computed[num_carries + i - 1];
          out.push_back(select(is_kept, dynamic_update_index_in_dim(own[i], value, count), own[i]));
        }
        return out;
      },
      body_arguments<Type>(a, types));
  const Values all = emit_while(condition, body, state, a);
  const std::span last(all);
  return {.results = concatenate<Tensor>({last.first(num_carries)}),
          .extra = {{}, concatenate<Tensor>({last.subspan(num_carries + 1)})},
          .ran = {Tensor(), iota({max_trips}, 0) < last[num_carries]}};
}

const OpRules while_rules({.name = "while",
                           .infer = infer_while,
                           .batch = batch_while,
                           .linearize = linearize_while,
                           .push_forward = push_forward_while,
                           .body = {flow_of_this, emit_while_like, widen_while},
                           .eval = eval_while,
                           .hlo = lower_while,
                           .cost = {while_flops, while_bytes}});

}  // namespace

// The condition returns one pred, so no value can be taken out of it.
BodyFlow flow_of_while(const WhileAttributes& a, size_t num_carries) {
  const auto region = [&](size_t num_consts, size_t first, std::vector<Port> results) {
    const bool is_open = !results.empty();
    return RegionFlow{
        .parameters = concatenate<Port>({ports(num_consts, Flow::kWhole, first),
                                         ports(num_carries, Flow::kCarried, a.num_consts())}),
        .results = std::move(results),
        .trips = {.repeats = Repeats::kIterations, .count = std::nullopt, .is_open = is_open}};
  };
  return {{region(a.num_condition_consts, 0, {}),
           region(a.num_body_consts, a.num_condition_consts, ports(num_carries, Flow::kCarried))}};
}

Values emit_while(std::shared_ptr<const Region> condition, std::shared_ptr<const Region> body,
                  Values inputs, const WhileAttributes& attributes) {
  return emit_all(while_rules, std::move(inputs),
                  std::make_shared<const WhileAttributes>(attributes),
                  {std::move(condition), std::move(body)});
}

Values while_loop(const WhileCondition& condition, const WhileBody& body, const Values& init) {
  const ClosedRegion goes_on = trace_closed(
      [&](const Values& carry) {
        const Tensor p = condition(carry);
        check_condition("while", {p});
        return Values{p};
      },
      types_of(init));
  const ClosedRegion step = trace_closed(
      [&](const Values& carry) {
        Values next = body(carry);
        check_carry("while", {}, init, next);
        return next;
      },
      types_of(init));
  return emit_while(goes_on.region, step.region,
                    concatenate<Tensor>({goes_on.captures, step.captures, init}),
                    WhileAttributes(goes_on.captures.size(), step.captures.size()));
}

Values bounded_while(const WhileCondition& condition, const WhileBody& body, const Values& init,
                     int64_t max_steps) {
  check_at_least("bounded_while", "max_steps", max_steps, 0, init);
  const auto step = [&](const Values& carry, const Values&) {
    const Tensor goes_on = condition(carry);
    check_condition("bounded_while", {goes_on});
    const auto next = [&](const Values& v) {
      Values out = body(v);
      check_carry("bounded_while", {}, init, out);
      return out;
    };
    return ScanResult{cond(
                          goes_on, next, [](const Values& v) { return v; }, carry),
                      {}};
  };
  return scan(step, init, {}, max_steps).carry;
}

Values fori_loop(int64_t begin, int64_t end,
                 const std::function<Values(const Tensor& i, const Values& carry)>& body,
                 const Values& init) {
  for (const int64_t bound : {begin, end}) {
    if (Scalar(bound).fits(DType::kI32)) continue;
    shape_error("fori_loop",
                fmt::format("expected bounds in the range of i32, got {} and {}", begin, end),
                init);
  }
  const int64_t count = std::max<int64_t>(end - begin, 0);
  const Tensor indices = iota({count}, 0) + begin;
  const auto step = [&](const Values& carry, const Values& i) {
    return ScanResult{body(i[0], carry), {}};
  };
  return scan(step, init, {indices}, count).carry;
}

Values fori_loop(const Tensor& begin, const Tensor& end,
                 const std::function<Values(const Tensor& i, const Values& carry)>& body,
                 const Values& init) {
  const auto goes_on = [&](const Values& state) { return state[0] < end; };
  const auto step = [&](const Values& state) {
    const Values next = body(state[0], concatenate<Tensor>({std::span(state).subspan(1)}));
    return concatenate<Tensor>({Values{state[0] + 1}, next});
  };
  const Values last = while_loop(goes_on, step, concatenate<Tensor>({Values{begin}, init}));
  return concatenate<Tensor>({std::span(last).subspan(1)});
}

}  // namespace axle
