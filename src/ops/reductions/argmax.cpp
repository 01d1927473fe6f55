#include "ops/reductions/argmax.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/dims.h"
#include "ops/movement/strided.h"
#include "ops/rules.h"
#include "ops/stablehlo.h"

namespace axle {
namespace {

std::vector<Type> infer_argmax(const OpNode& op) {
  check_ordered(op);
  const int64_t axis = op.attrs<AxisAttributes>().axis;
  const Type& x = op.inputs[0].type();
  if (x.dims[static_cast<size_t>(axis)] == 0)
    shape_error(op, fmt::format("expected at least one element along axis {}", axis));
  return {Type{DType::kI32, without_dims(x.dims, {axis})}};
}

// Returns the eval rule of argmax or argmin. better(a, b) is true if the later element a replaces
// the best element b so far.
template <class F>
EvalRule first_best(F better) {
  return [better](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                  std::span<HostTensor> y) {
    const int64_t axis = op.attrs<AxisAttributes>().axis;
    const auto out = y[0].values<int32_t>();
    dispatch(x[0]->dtype(), [&]<class T>(std::type_identity<T>) {
      using C = Computed<T>;
      const auto in = x[0]->values<T>();
      size_t j = 0;
      for_each_line(x[0]->shape(), axis, [&](size_t start, size_t step, size_t n) {
        size_t best = 0;
        for (size_t i = 1; i < n; ++i) {
          const C v(in[start + i * step]), current(in[start + best * step]);
          if (current == current && (v != v || better(v, current))) best = i;
        }
        out[j++] = static_cast<int32_t>(best);
      });
    });
  };
}

// Lowers to a reduction of (value, index) pairs. The left value wins if `direction` holds for
// (left, right).
HloValues lower_arg(const char* direction, double (*init)(DType), const OpNode& op, HloBuilder& b,
                    const HloValues& x) {
  const int64_t axis = op.attrs<AxisAttributes>().axis;
  const Type value{x[0].type.dtype, {}}, index{DType::kI32, {}};
  const HloValue indices = b.one("stablehlo.iota", {}, {DType::kI32, x[0].type.dims},
                                 fmt::format("iota_dimension = {} : i64", axis));
  const auto body = [&](const HloValues& v) {
    const HloValue wins = hlo_compare(b, direction, v[0], v[2]);
    const HloValue is_nan = hlo_compare(b, "NE", v[0], v[0]);
    const HloValue left = hlo_map(b, "or", {wins, is_nan});
    const HloValue tie = hlo_compare(b, "EQ", v[0], v[2]);
    const HloValue earlier = hlo_compare(b, "LT", v[1], v[3]);
    const HloValue left_index = hlo_map(b, "or", {left, hlo_map(b, "and", {tie, earlier})});
    return HloValues{hlo_select(b, left, v[0], v[2]), hlo_select(b, left_index, v[1], v[3])};
  };
  const HloValues both = b.op(
      "stablehlo.reduce", {x[0], indices, b.splat(value, init(value.dtype)), b.splat(index, 0)},
      {{value.dtype, op.outputs[0].dims}, op.outputs[0]}, "dimensions = " + mlir_array({axis}),
      {HloRegion{{value, index, value, index}, body}});
  return {both[1]};
}

const OpRules argmax_rules({.name = "argmax",
                            .infer = infer_argmax,
                            .batch = along_axis,
                            .vjp = no_gradient,
                            .eval = first_best([](auto a, auto b) { return a > b; }),
                            .hlo =
                                [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                  return lower_arg("GT", lowest_value, op, b, x);
                                },
                            .cost = num_input_elements});

const OpRules argmin_rules({.name = "argmin",
                            .infer = infer_argmax,
                            .batch = along_axis,
                            .vjp = no_gradient,
                            .eval = first_best([](auto a, auto b) { return a < b; }),
                            .hlo =
                                [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                  return lower_arg("LT", highest_value, op, b, x);
                                },
                            .cost = num_input_elements});

}  // namespace

Tensor argmax(const Tensor& x, int64_t axis) {
  return emit(argmax_rules, {x}, AxisAttributes(normalized_axis("argmax", x, axis)));
}
Tensor argmin(const Tensor& x, int64_t axis) {
  return emit(argmin_rules, {x}, AxisAttributes(normalized_axis("argmin", x, axis)));
}

}  // namespace axle
