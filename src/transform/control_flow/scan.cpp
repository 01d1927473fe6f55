#include "transform/control_flow/scan.h"

#include <fmt/format.h>

#include "base/concatenate.h"
#include "base/error.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "transform/body.h"
#include "transform/control_flow/carry.h"
#include "transform/control_flow/scan_attributes.h"
#include "transform/control_flow/scan_batch.h"
#include "transform/control_flow/scan_prune.h"
#include "transform/control_flow/scan_vjp.h"
#include "transform/trace.h"

namespace axle {
namespace {

std::vector<Type> infer_scan(const OpNode& op) {
  const auto& a = op.attrs<ScanAttributes>();
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
    std::vector<HostTensor> arguments;
    for (size_t i = 0; i < a.num_consts; ++i) arguments.push_back(*x[i]);
    for (HostTensor& c : carry) arguments.push_back(std::move(c));
    for (size_t i = a.num_consts + a.num_carries; i < x.size(); ++i)
      arguments.push_back(slice_at(*x[i], at));
    std::vector<HostTensor> results = evaluate(op.region(), std::move(arguments), options);
    for (size_t i = 0; i < a.num_carries; ++i) carry[i] = std::move(results[i]);
    for (size_t i = a.num_carries; i < results.size(); ++i) {
      const size_t n = results[i].type().num_bytes();
      std::memcpy(y[i].bytes().data() + n * static_cast<size_t>(at), results[i].bytes().data(), n);
    }
  }
  for (size_t i = 0; i < a.num_carries; ++i) y[i] = std::move(carry[i]);
}

// Lowers to while (i < length), the form that XLA's trip-count analysis and in-place updates
// recognise. HLO loops capture nothing, so every value that the body reads is carried.
HloValues lower_scan(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const auto& a = op.attrs<ScanAttributes>();
  const size_t num_fixed = a.num_consts + a.num_carries;  // operands before xs
  const Type i32{DType::kI32, {}};
  const Type pred{DType::kPred, {}};
  HloValues state{b.splat(i32, 0)};  // the iteration, the operands, then the stacked results
  state.insert(state.end(), x.begin(), x.end());
  for (size_t i = a.num_carries; i < op.outputs.size(); ++i)
    state.push_back(b.splat(op.outputs[i], 0));
  std::vector<Type> types;
  for (const HloValue& v : state) types.push_back(v.type);

  const auto condition = [&](const HloValues& s) {
    const HloValue n = b.splat(i32, a.length);
    return HloValues{b.one("stablehlo.compare", {s[0], n}, pred,
                           "comparison_direction = #stablehlo<comparison_direction LT>, "
                           "compare_type = #stablehlo<comparison_type SIGNED>")};
  };
  const auto body = [&](const HloValues& s) {
    HloValue at = s[0];
    if (a.reverse) at = b.one("stablehlo.subtract", {b.splat(i32, a.length - 1), s[0]}, i32);
    const HloValue zero = b.splat(i32, 0);
    const auto starts = [&](const Type& stacked, const HloValue& operand) {
      HloValues v{operand};
      v.push_back(at);
      v.insert(v.end(), stacked.dims.size() - 1, zero);
      return v;
    };
    const std::span operands = std::span(s).subspan(1, x.size());
    const std::span all_stacked = std::span(s).subspan(1 + x.size());
    HloValues arguments = concatenate<HloValue>({operands.first(num_fixed)});
    for (const HloValue& xs : operands.subspan(num_fixed)) {
      Type window = xs.type;
      window.dims[0] = 1;
      const HloValue row = b.one("stablehlo.dynamic_slice", starts(xs.type, xs), window,
                                 "slice_sizes = " + mlir_array(window.dims));
      arguments.push_back(b.one("stablehlo.reshape", {row}, slice_type(xs.type)));
    }
    const HloValues results = b.inline_region(op.region(), arguments);
    const HloValue next_step = b.one("stablehlo.add", {s[0], b.splat(i32, 1)}, i32);
    HloValues next = concatenate<HloValue>({std::span(&next_step, 1), operands.first(a.num_consts),
                                            std::span(results).first(a.num_carries),
                                            operands.subspan(num_fixed)});
    for (size_t i = a.num_carries; i < results.size(); ++i) {
      const HloValue& stacked = all_stacked[i - a.num_carries];
      Type window = stacked.type;
      window.dims[0] = 1;
      HloValues update{stacked, b.one("stablehlo.reshape", {results[i]}, window), at};
      update.insert(update.end(), stacked.type.dims.size() - 1, zero);
      next.push_back(b.one("stablehlo.dynamic_update_slice", update, stacked.type));
    }
    return next;
  };
  const HloValues last =
      b.op("stablehlo.while", state, types, {}, {{types, condition}, {types, body}});
  return concatenate<HloValue>({std::span(last).subspan(1 + a.num_consts, a.num_carries),
                                std::span(last).subspan(1 + x.size())});
}

double length(const OpNode& op) { return static_cast<double>(op.attrs<ScanAttributes>().length); }
double scan_flops(const OpNode& op) { return body_flops(op) * length(op); }
double scan_bytes(const OpNode& op) { return body_bytes(op) * length(op); }
std::vector<double> scan_runs(const OpNode& op) { return {length(op)}; }

const OpRules scan_rules({.name = "scan",
                          .infer = infer_scan,
                          .batch = batch_scan,
                          .linearize = linearize_scan,
                          .prune = prune_scan,
                          .runs = scan_runs,
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
  std::vector<Type> types;
  for (const Tensor& t : init) types.push_back(t.type());
  for (const Tensor& t : xs) {
    if (t.rank() == 0 || t.dim(0) != length) {
      shape_error("scan", fmt::format("expected a leading dim of {}, got {}", length, describe(t)));
    }
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
  const Values all =
      emit_scan(closed.region, concatenate<Tensor>({closed.captures, init, xs}),
                ScanAttributes(closed.captures.size(), init.size(), length, options.reverse));
  const std::span results(all);
  return {.carry = concatenate<Tensor>({results.first(init.size())}),
          .ys = concatenate<Tensor>({results.last(num_ys)})};
}

}  // namespace axle
