#include <fmt/format.h>

#include <cstring>

#include "base/lists.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ops/create.h"
#include "transform/batch_region.h"
#include "transform/bodies.h"
#include "transform/control_flow/control_flow.h"
#include "transform/control_flow/loop_ops.h"
#include "transform/trace.h"

namespace axle {
namespace {

std::vector<Type> infer_scan(const OpNode& op) {
  const auto& a = op.attrs<ScanAttributes>();
  check_num_regions(op, 1);
  const size_t num_fixed = a.num_consts + a.num_carries;
  if (op.inputs.size() < num_fixed || op.region().results().size() < a.num_carries) {
    shape_error(op, fmt::format("expected {} consts and {} carries, got {} operands and a body "
                                "with {} results",
                                a.num_consts, a.num_carries, op.inputs.size(),
                                op.region().results().size()));
  }
  std::vector<Type> arguments = types_of(op.inputs);
  for (size_t i = num_fixed; i < arguments.size(); ++i) {
    check_stacked(op.inputs[i], a.length);
    arguments[i] = slice_type(arguments[i]);
  }
  check_parameters(op, 0, arguments);
  check_carry("scan", {},
              concatenate<Tensor>({std::span(op.inputs).subspan(a.num_consts, a.num_carries)}),
              concatenate<Tensor>({std::span(op.region().results()).first(a.num_carries)}));
  std::vector<Type> types;
  for (size_t i = 0; i < op.region().results().size(); ++i) {
    const Type& t = op.region().results()[i].type();
    types.push_back(i < a.num_carries ? t : stacked_type(t, a.length));
  }
  return types;
}

HostTensor slice_at(const HostTensor& x, int64_t i) {
  HostTensor out(slice_type(x.type()));
  const size_t n = out.type().num_bytes();
  std::memcpy(out.bytes().data(), x.bytes().data() + n * static_cast<size_t>(i), n);
  return out;
}

void eval_scan(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y) {
  const auto& a = op.attrs<ScanAttributes>();
  std::vector<HostTensor> carry;
  for (size_t i = 0; i < a.num_carries; ++i) carry.push_back(*x[a.num_consts + i]);
  for (int64_t step = 0; step < a.length; ++step) {
    const int64_t at = a.reverse ? a.length - 1 - step : step;
    std::vector<HostTensor> slices;
    for (size_t i = a.num_consts + a.num_carries; i < x.size(); ++i)
      slices.push_back(slice_at(*x[i], at));
    const auto consts = x.first(a.num_consts);
    std::vector<const HostTensor*> arguments(consts.begin(), consts.end());
    for (const HostTensor& c : carry) arguments.push_back(&c);
    for (const HostTensor& s : slices) arguments.push_back(&s);
    std::vector<HostTensor> results = evaluate_borrowing(op.region(), arguments, options);
    for (size_t i = 0; i < a.num_carries; ++i) carry[i] = std::move(results[i]);
    for (size_t i = a.num_carries; i < results.size(); ++i) {
      const size_t n = results[i].type().num_bytes();
      std::memcpy(y[i].bytes().data() + n * static_cast<size_t>(at), results[i].bytes().data(), n);
    }
  }
  for (size_t i = 0; i < a.num_carries; ++i) y[i] = std::move(carry[i]);
}

// What the lowered loop carries: operands, then the stacked results so far. HLO loops capture
// nothing, so every value that the body reads is among them.
struct LoopState {
  HloValues operands, stacked;
};

// Writes iteration `step`, an i32 scalar. The rows of xs are read, and those of ys written, in
// place.
LoopState lower_iteration(const OpNode& op, HloBuilder& b, LoopState state, const HloValue& step) {
  const auto& a = op.attrs<ScanAttributes>();
  const size_t num_fixed = a.num_consts + a.num_carries;  // operands before xs
  const HloValue zero = b.splat(step.type, 0);
  HloValue at = step;
  if (a.reverse)
    at = b.one("stablehlo.subtract", {b.splat(step.type, a.length - 1), step}, step.type);
  const auto starts = [&](const HloValue& stacked, HloValues operands) {
    operands.push_back(at);
    operands.insert(operands.end(), stacked.type.dims.size() - 1, zero);
    return operands;
  };
  const auto row_of = [](Type stacked) {
    stacked.dims[0] = 1;
    return stacked;
  };
  HloValues arguments = concatenate<HloValue>({std::span(state.operands).first(num_fixed)});
  for (const HloValue& xs : std::span(state.operands).subspan(num_fixed)) {
    const Type window = row_of(xs.type);
    const HloValue row = b.one("stablehlo.dynamic_slice", starts(xs, {xs}), window,
                               "slice_sizes = " + mlir_array(window.dims));
    arguments.push_back(b.one("stablehlo.reshape", {row}, slice_type(xs.type)));
  }
  const HloValues results = b.inline_region(op.region(), arguments);
  for (size_t i = 0; i < a.num_carries; ++i) state.operands[a.num_consts + i] = results[i];
  for (size_t i = a.num_carries; i < results.size(); ++i) {
    HloValue& stacked = state.stacked[i - a.num_carries];
    const HloValue row = b.one("stablehlo.reshape", {results[i]}, row_of(stacked.type));
    stacked =
        b.one("stablehlo.dynamic_update_slice", starts(stacked, {stacked, row}), stacked.type);
  }
  return state;
}

// Lowers to while (i < length), the form that XLA's trip-count analysis and in-place updates
// recognise, with `unroll` iterations in the body. Iterations that are left over follow the loop.
HloValues lower_scan(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const auto& a = op.attrs<ScanAttributes>();
  const Type i32{DType::kI32, {}};
  const Type pred{DType::kPred, {}};
  LoopState state{x, {}};
  for (size_t i = a.num_carries; i < op.outputs.size(); ++i)
    state.stacked.push_back(b.splat(op.outputs[i], 0));
  const int64_t in_loop = a.unroll >= a.length && a.unroll > 1 ? 0 : a.length / a.unroll * a.unroll;
  if (in_loop > 0) {
    const auto flat = [&](const HloValue& step, const LoopState& s) {
      return concatenate<HloValue>({std::span(&step, 1), s.operands, s.stacked});
    };
    const auto state_of = [&](const HloValues& values) {
      const std::span all(values);
      return LoopState{concatenate<HloValue>({all.subspan(1, x.size())}),
                       concatenate<HloValue>({all.subspan(1 + x.size())})};
    };
    const HloValues first = flat(b.splat(i32, 0), state);
    std::vector<Type> types;
    for (const HloValue& v : first) types.push_back(v.type);
    const auto condition = [&](const HloValues& s) {
      const HloValue n = b.splat(i32, in_loop);
      return HloValues{b.one("stablehlo.compare", {s[0], n}, pred,
                             "comparison_direction = #stablehlo<comparison_direction LT>, "
                             "compare_type = #stablehlo<comparison_type SIGNED>")};
    };
    const auto body = [&](const HloValues& s) {
      LoopState next = state_of(s);
      HloValue step = s[0];
      for (int64_t i = 0; i < a.unroll; ++i) {
        next = lower_iteration(op, b, std::move(next), step);
        step = b.one("stablehlo.add", {step, b.splat(i32, 1)}, i32);
      }
      return flat(step, next);
    };
    state =
        state_of(b.op("stablehlo.while", first, types, {}, {{types, condition}, {types, body}}));
  }
  for (int64_t i = in_loop; i < a.length; ++i)
    state = lower_iteration(op, b, std::move(state), b.splat(i32, i));
  return concatenate<HloValue>(
      {std::span(state.operands).subspan(a.num_consts, a.num_carries), state.stacked});
}

double length(const OpNode& op) { return static_cast<double>(op.attrs<ScanAttributes>().length); }
double scan_flops(const OpNode& op) { return body_flops(op) * length(op); }
double scan_bytes(const OpNode& op) { return body_bytes(op) * length(op); }

BodyFlow flow_of_scan(const OpNode& op) {
  const auto& a = op.attrs<ScanAttributes>();
  const size_t num_fixed = a.num_consts + a.num_carries;
  RegionFlow body{
      .parameters = concatenate<Port>(
          {ports(a.num_consts), ports(a.num_carries, Flow::kCarried, a.num_consts),
           ports(op.inputs.size() - num_fixed, Flow::kSliced, num_fixed)}),
      .results = concatenate<Port>(
          {ports(a.num_carries, Flow::kCarried),
           ports(op.outputs.size() - a.num_carries, Flow::kSliced, a.num_carries)}),
      .trips = {.repeats = Repeats::kIterations, .count = a.length, .is_reversed = a.reverse}};
  BodyFlow out{{std::move(body)}};
  if (a.may_keep_values) out.kept = {.flow = Flow::kSliced};
  return out;
}

Values emit_scan_like(const OpNode& op, const BodyFlow& flow, Regions regions,
                      const Values& operands) {
  const std::vector<Port>& parameters = flow.regions[0].parameters;
  auto a = op.attrs<ScanAttributes>();
  a.num_consts = count_ports(parameters, Flow::kWhole);
  a.num_carries = count_ports(parameters, Flow::kCarried);
  return emit_scan(std::move(regions[0]), at_ports(operands, parameters), a);
}

const OpRules scan_rules({.name = "scan",
                          .infer = infer_scan,
                          .batch = batch_flow,
                          .linearize = linearize_scan,
                          .body = {flow_of_scan, emit_scan_like},
                          .eval = eval_scan,
                          .hlo = lower_scan,
                          .cost = {scan_flops, scan_bytes}});

}  // namespace

Values emit_scan(std::shared_ptr<const Region> body, Values inputs,
                 const ScanAttributes& attributes) {
  return emit_all(scan_rules, std::move(inputs), std::make_shared<const ScanAttributes>(attributes),
                  {std::move(body)});
}

ScanResult scan(const ScanBody& body, const Values& init, const Values& xs, int64_t length,
                const ScanOptions& options) {
  if (options.unroll < 1) {
    shape_error("scan",
                fmt::format("expected to unroll at least 1 iteration, got {}", options.unroll));
  }
  check_at_least("scan", "a length", length, 0, concatenate<Tensor>({init, xs}));
  std::vector<Type> types;
  for (const Tensor& t : init) types.push_back(t.type());
  for (const Tensor& t : xs) {
    check_stacked(t, length);
    types.push_back(slice_type(t.type()));
  }
  size_t num_ys = 0;
  const ClosedRegion closed = trace_closed(
      [&](const Values& p) {
        const std::span parameters(p);
        ScanResult r = body(concatenate<Tensor>({parameters.first(init.size())}),
                            concatenate<Tensor>({parameters.subspan(init.size())}));
        check_carry("scan", options.names, init, r.carry);
        num_ys = r.ys.size();
        return concatenate<Tensor>({r.carry, r.ys});
      },
      types);
  ScanAttributes attributes(closed.captures.size(), init.size(), length, options.reverse,
                            options.unroll);
  attributes.may_keep_values = options.may_keep_values;
  const Values all =
      emit_scan(closed.region, concatenate<Tensor>({closed.captures, init, xs}), attributes);
  const std::span results(all);
  return {.carry = concatenate<Tensor>({results.first(init.size())}),
          .ys = concatenate<Tensor>({results.last(num_ys)})};
}

}  // namespace axle
