#include "ops/reductions/cumulative.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/composite.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/combine.h"
#include "ops/reductions/softmax.h"
#include "ops/stablehlo.h"
#include "ops/windows/window_stablehlo.h"

namespace axle {
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
  SlidingDim& along = window[static_cast<size_t>(a.axis)];
  along.size = x[0].type.dims[static_cast<size_t>(a.axis)];
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
  OpNode& op = *y.node();
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
                            .eval = running(Add()),
                            .hlo = lower_cumulative<Add>,
                            .cost = kElementwise});

const OpRules cumprod_rules({.name = "cumprod",
                             .infer = same_type_numbers,
                             .batch = batch_cumulative,
                             .vjp = [](X x, Y, Ct g) { return doubling_vjp(operator*, x, g); },
                             .eval = running(Multiply()),
                             .hlo = lower_cumulative<Multiply>,
                             .cost = kElementwise});

const OpRules cummax_rules({.name = "cummax",
                            .infer = same_type_numbers,
                            .batch = batch_cumulative,
                            .vjp = [](X x, Y, Ct g) { return doubling_vjp(maximum, x, g); },
                            .eval = running(Larger()),
                            .hlo = lower_cumulative<Larger>,
                            .cost = kElementwise});

const OpRules cummin_rules({.name = "cummin",
                            .infer = same_type_numbers,
                            .batch = batch_cumulative,
                            .vjp = [](X x, Y, Ct g) { return doubling_vjp(minimum, x, g); },
                            .eval = running(Smaller()),
                            .hlo = lower_cumulative<Smaller>,
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
