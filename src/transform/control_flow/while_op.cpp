#include "transform/control_flow/while_op.h"

#include <fmt/format.h>

#include "base/lists.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/body.h"
#include "transform/control_flow/type_checks.h"
#include "transform/control_flow/while_prune.h"
#include "transform/control_flow/while_tangents.h"
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
  const auto& a = op.attrs<WhileAttributes>();
  for (bool changed = true; changed;) {
    changed = false;
    const auto marks = [&](const auto& of) {
      std::vector<bool> out(batched.begin() + a.num_consts(), batched.end());
      out.insert(out.begin(), of.begin(), of.end());
      return out;
    };
    const auto at = [&](size_t i) { return batched.begin() + i; };
    const bool stops_by_itself = batched_results(
        condition_of(op), marks(std::vector<bool>(at(0), at(a.num_condition_consts))))[0];
    const std::vector<bool> results = batched_results(
        body_of(op), marks(std::vector<bool>(at(a.num_condition_consts), at(a.num_consts()))));
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t carry = a.num_consts() + i;
      if (!batched[carry] && (results[i] || stops_by_itself)) batched[carry] = changed = true;
    }
  }
  return batched;
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

// The condition returns one pred, so no value can be taken out of it.
std::vector<RegionRuns> while_regions(const OpNode&) {
  return {{.repeats = Repeats::kIterations, .is_open = false}, {.repeats = Repeats::kIterations}};
}

// A carry is a result of the iteration before.
ParameterSource while_source(const OpNode& op, ParameterSource::Run run, size_t parameter) {
  const auto& a = op.attrs<WhileAttributes>();
  const size_t first_const = run.region == 0 ? 0 : a.num_condition_consts;
  const size_t num_consts = run.region == 0 ? a.num_condition_consts : a.num_body_consts;
  if (parameter < num_consts) return {op.inputs[first_const + parameter]};
  const size_t carry = parameter - num_consts;
  if (run.index == 0) return {op.inputs[a.num_consts() + carry]};
  return {body_of(op).results()[carry], ParameterSource::Run{1, run.index - 1}};
}

// The loop also carries the number of its iterations so far, and a buffer for each extra value.
Widened widen_while(const OpNode& op, const Values& inputs,
                    std::span<const std::shared_ptr<const Region>> regions, int64_t max_runs) {
  const auto& a = op.attrs<WhileAttributes>();
  const size_t num_carries = op.outputs.size();
  Values state = inputs;
  state.push_back(scalar(0, DType::kI32));
  for (const Tensor& value : std::span(regions[1]->results()).subspan(num_carries)) {
    Shape dims = value.shape();
    dims.insert(dims.begin(), max_runs);
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
        const Tensor is_kept = count < max_runs;
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
          .ran = {Tensor(), iota({max_runs}, 0) < last[num_carries]}};
}

const OpRules while_rules({.name = "while",
                           .infer = infer_while,
                           .batch = batch_while,
                           .linearize = linearize_while,
                           .push_forward = push_forward_while,
                           .prune = prune_while,
                           .regions = while_regions,
                           .source = while_source,
                           .widen = widen_while,
                           .eval = eval_while,
                           .hlo = lower_while,
                           .cost = {while_flops, while_bytes}});

}  // namespace

Values emit_while(std::shared_ptr<const Region> condition, std::shared_ptr<const Region> body,
                  Values inputs, const WhileAttributes& attributes) {
  return emit_all(while_rules, std::move(inputs),
                  std::make_shared<const WhileAttributes>(attributes),
                  {std::move(condition), std::move(body)});
}

}  // namespace axle
