#include <fmt/format.h>

#include <limits>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/movement/window_rules.h"
#include "ops/reductions/combine.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"
#include "ops/windows/windows.h"

namespace axle {
namespace {

std::vector<Type> infer_argmax(const OpNode& op) {
  check_ordered(op);
  const int64_t axis = op.attrs<AxisAttributes>().axis;
  const Type& x = op.inputs[0].type();
  if (x.dims[axis] == 0)
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

Tensor quantile(const Tensor& x, const Tensor& q, int64_t axis, QuantileMethod method,
                bool keep_dims) {
  axis = normalized_axis("quantile", x, axis);
  const int64_t n = x.dim(axis);
  if (!is_float(x.dtype()) || !is_float(q.dtype()) || q.rank() > 1 || n == 0) {
    shape_error("quantile", "expected floats that are not empty and a scalar or vector of floats",
                {x, q});
  }
  const DType wide = wide_dtype(x.dtype());
  const Tensor has_nan = reduce_or(is_nan(x), {axis}, true);
  const Tensor sorted =
      move_axis(sort(select(has_nan, std::numeric_limits<double>::quiet_NaN(), x), axis), axis, 0);

  const Tensor fraction = astype(q, wide);
  const Tensor position =
      method == QuantileMethod::kInvertedCdf ? ceil(fraction * n) - 1 : fraction * (n - 1);
  const Tensor below = floor(position);
  const auto element = [&](const Tensor& at) {
    return take(sorted, astype(clamp(0, at, n - 1), DType::kI32));
  };
  const Tensor lower = element(below), higher = element(ceil(position));
  const Tensor weight = broadcast_in_dim(position - below, lower.shape(), axis_range(0, q.rank()));

  Tensor y;
  switch (method) {
    case QuantileMethod::kLinear:
      y = astype(lower, wide) * (1 - weight) + astype(higher, wide) * weight;
      break;
    case QuantileMethod::kLower:
    case QuantileMethod::kInvertedCdf:
      y = lower;
      break;
    case QuantileMethod::kHigher:
      y = higher;
      break;
    case QuantileMethod::kMidpoint:
      y = (lower + higher) * 0.5;
      break;
    case QuantileMethod::kNearest:
      y = select(weight <= 0.5, lower, higher);
      break;
  }
  y = astype(y, x.dtype());
  return keep_dims ? expand_dims(y, q.rank() + axis) : y;
}

Tensor quantile(const Tensor& x, double q, int64_t axis, QuantileMethod method, bool keep_dims) {
  const DType dtype = is_float(x.dtype()) ? wide_dtype(x.dtype()) : DType::kF32;
  return quantile(x, scalar(q, dtype), axis, method, keep_dims);
}

Tensor percentile(const Tensor& x, const Tensor& q, int64_t axis, QuantileMethod method,
                  bool keep_dims) {
  return quantile(x, q / 100, axis, method, keep_dims);
}

Tensor median(const Tensor& x, int64_t axis, bool keep_dims) {
  return quantile(x, 0.5, axis, QuantileMethod::kMidpoint, keep_dims);
}

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct CumulativeAttributes : Attributes {
  CumulativeAttributes(int64_t a, bool r) : axis(a), reversed(r) {}
  int64_t axis;
  bool reversed;
  std::string text() const override {
    return fmt::format("axis = {}, reversed = {}", axis, reversed);
  }
};

std::vector<Batched> batch_cumulative(BatchX x) {
  const auto& a = x.attrs<CumulativeAttributes>();
  return emit_batched(x, CumulativeAttributes(a.axis + 1, a.reversed));
}

// Returns the eval rule y[i] = f(y[i - 1], x[i]). Floats are computed in double.
template <class F>
EvalRule running(F f) {
  return [f](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
             std::span<HostTensor> y) {
    const auto& a = op.attrs<CumulativeAttributes>();
    dispatch(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
      using A = std::conditional_t<std::is_integral_v<Computed<T>>, Computed<T>, double>;
      if constexpr (std::is_invocable_v<F, A, A>) {
        const auto in = x[0]->values<T>();
        const auto out = y[0].values<T>();
        for_each_line(x[0]->shape(), a.axis, [&](size_t start, size_t step, size_t n) {
          A total{};
          for (size_t k = 0; k < n; ++k) {
            const size_t i = start + (a.reversed ? n - 1 - k : k) * step;
            const A v = convert_element<A>(in[i]);
            total = k == 0 ? v : f(total, v);
            out[i] = convert_element<T>(total);
          }
        });
      }
    });
  };
}

// Lowers to one reduce_window op whose window covers all elements up to the current one. XLA
// rewrites it to a tree of short windows.
template <class F>
HloValues lower_windows(F combine, double init, const OpNode& op, HloBuilder& b,
                        const HloValues& x) {
  const auto& a = op.attrs<CumulativeAttributes>();
  SlidingWindow window(x[0].type.dims.size());
  SlidingDim& along = window[a.axis];
  along.size = x[0].type.dims[a.axis];
  if (along.size == 0) return x;  // StableHLO has no empty windows
  (a.reversed ? along.high : along.low) = along.size - 1;
  return hlo_reduce_window(b, x, {b.splat({x[0].type.dtype, {}}, init)}, window, x[0].type.dims,
                           [&](const HloValues& v) { return HloValues{combine(v)}; });
}

template <class Combine>
HloValues lower_cumulative(const OpNode& op, HloBuilder& b, const HloValues& x) {
  return lower_windows([&](const HloValues& v) { return hlo_map(b, Combine::kHlo, v); },
                       Combine::identity(x[0].type.dtype), op, b, x);
}

// Returns the cotangents of a and b for y = f(a, b), where f is a single op.
Values pull_back(const Tensor& y, const Tensor& g) {
  const OpNode& op = *y.node();
  return op.rules->row().vjp(X(op, op.inputs), Y(op, op.results()), Ct(op, {g}));
}

// Differentiates the cumulative op as a scan by recursive doubling: level k + 1 combines elements
// of level k that are 2^k apart.
Values doubling_vjp(Tensor (*combine)(const Tensor&, const Tensor&), X in, Ct ct) {
  const auto& attrs = in.attrs<CumulativeAttributes>();
  const int64_t axis = attrs.axis, n = in[0].dim(axis);
  const auto turned = [&](const Tensor& t) { return attrs.reversed ? reverse(t, {axis}) : t; };
  Tensor x = turned(in[0]), g = turned(ct[0]);
  Values combined;
  for (int64_t s = 1; s < n; s *= 2) {
    const Tensor y = combine(slice_in_dim(x, axis, 0, n - s), slice_in_dim(x, axis, s, n));
    x = concatenate({slice_in_dim(x, axis, 0, s), y}, axis);
    combined.push_back(y);
  }
  for (; !combined.empty(); combined.pop_back()) {
    const Tensor& y = combined.back();
    const int64_t s = n - y.dim(axis);
    const Values both = pull_back(y, slice_in_dim(g, axis, s, n));
    g = concatenate({slice_in_dim(g, axis, 0, s), both[1]}, axis) + pad_in_dim(both[0], axis, 0, s);
  }
  return {turned(g)};
}

const OpRules cumsum_rules({.name = "cumsum",
                            .infer = same_type_numbers,
                            .batch = batch_cumulative,
                            .vjp =
                                [](X x, Y, Ct g) {
                                  const auto& a = x.attrs<CumulativeAttributes>();
                                  return Values{cumsum(g[0], a.axis, !a.reversed)};
                                },
                            .eval = running(combine::Add()),
                            .hlo = lower_cumulative<combine::Add>,
                            .cost = kElementwise});

const OpRules cumprod_rules({.name = "cumprod",
                             .infer = same_type_numbers,
                             .batch = batch_cumulative,
                             .vjp = [](X x, Y, Ct g) { return doubling_vjp(operator*, x, g); },
                             .eval = running(combine::Multiply()),
                             .hlo = lower_cumulative<combine::Multiply>,
                             .cost = kElementwise});

const OpRules cummax_rules({.name = "cummax",
                            .infer = same_type_numbers,
                            .batch = batch_cumulative,
                            .vjp = [](X x, Y, Ct g) { return doubling_vjp(maximum, x, g); },
                            .eval = running(combine::Larger()),
                            .hlo = lower_cumulative<combine::Larger>,
                            .cost = kElementwise});

const OpRules cummin_rules({.name = "cummin",
                            .infer = same_type_numbers,
                            .batch = batch_cumulative,
                            .vjp = [](X x, Y, Ct g) { return doubling_vjp(minimum, x, g); },
                            .eval = running(combine::Smaller()),
                            .hlo = lower_cumulative<combine::Smaller>,
                            .cost = kElementwise});

// Writes logaddexp of two scalars, for the region of a StableHLO op.
HloValue hlo_logaddexp(HloBuilder& b, const HloValues& v) {
  Region region;
  const TraceScope trace(region);
  const Tensor p = region.add_parameter(v[0].type), q = region.add_parameter(v[1].type);
  region.set_results({logaddexp(p, q)});
  return b.inline_region(region, v)[0];
}

const OpRules cumlogsumexp_rules(
    {.name = "cumlogsumexp",
     .infer = same_float_type,
     .batch = batch_cumulative,
     .vjp = [](X x, Y, Ct g) { return doubling_vjp(logaddexp, x, g); },
     .eval = running([](double a, double b) {
       const double delta = a - b;
       return std::isnan(delta) ? a + b : std::max(a, b) + std::log1p(std::exp(-std::fabs(delta)));
     }),
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           return lower_windows([&](const HloValues& v) { return hlo_logaddexp(b, v); },
                                -kUnbounded, op, b, x);
         },
     .cost = kTranscendental});

Tensor apply_cumulative(const OpRules& rules, const Tensor& x, int64_t axis, bool reversed) {
  return emit(rules, {x}, CumulativeAttributes(normalized_axis(rules.name(), x, axis), reversed));
}

Tensor cumulate_in_f32(const OpRules& rules, const Tensor& x, int64_t axis, bool reversed) {
  return astype(apply_cumulative(rules, astype(x, wide_dtype(x.dtype())), axis, reversed),
                x.dtype());
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t axis, bool reversed) {
  return cumulate_in_f32(cumsum_rules, x, axis, reversed);
}
Tensor cumprod(const Tensor& x, int64_t axis, bool reversed) {
  return cumulate_in_f32(cumprod_rules, x, axis, reversed);
}
Tensor cummax(const Tensor& x, int64_t axis, bool reversed) {
  return apply_cumulative(cummax_rules, x, axis, reversed);
}
Tensor cummin(const Tensor& x, int64_t axis, bool reversed) {
  return apply_cumulative(cummin_rules, x, axis, reversed);
}
Tensor cumlogsumexp(const Tensor& x, int64_t axis, bool reversed) {
  return cumulate_in_f32(cumlogsumexp_rules, x, axis, reversed);
}

}  // namespace axle
