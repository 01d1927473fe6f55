#include "ops/windows/reduce_window.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/elementwise/convert.h"
#include "ops/rules.h"
#include "ops/stablehlo.h"
#include "ops/windows/select_and_scatter.h"
#include "ops/windows/slide.h"

namespace axle {
namespace {

using detail::Number;
using detail::RealOrComplex;
using detail::wrapping;

const SlidingWindow& window_of(const OpNode& op) { return op.attrs<SlidingAttributes>().window; }

std::vector<Type> infer_windows(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  return {Type{x.dtype, num_windows(op, window_of(op), x.dims)}};
}

std::vector<Type> infer_sum(const OpNode& op) {
  check_real_or_complex(op);
  return infer_windows(op);
}

std::vector<Type> infer_extremum(const OpNode& op) {
  check_numbers(op);
  return infer_windows(op);
}

std::vector<Batched> batch_windows(BatchX x) {
  return emit_batched(x, SlidingAttributes(with_batch_dim(window_of(x.op()))));
}

// Returns the eval rule that starts with y = init and applies y = f(y, x) to each element of a
// window.
template <class F>
EvalRule fold(Identity init, F f) {
  return [init, f](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                   std::span<HostTensor> y) {
    dispatch_any(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
      using A = detail::Accumulator<T>;
      if constexpr (std::is_invocable_v<F, A, A>) {
        // The identity of an integer dtype is an extreme of this dtype, not of its accumulator.
        std::vector<A> sums(static_cast<size_t>(y[0].size()),
                            convert_element<A>(convert_element<T>(init(y[0].dtype()))));
        const auto in = x[0]->values<T>();
        slide(window_of(op), x[0]->shape(), y[0].shape(), [&](size_t to, size_t from) {
          sums[to] = f(A(sums[to]), convert_element<A>(in[from]));
        });
        std::ranges::transform(sums, y[0].values<T>().begin(),
                               [](A v) { return convert_element<T>(v); });
      }
    });
  };
}

HloValues lower(const char* combine, Identity init, const OpNode& op, HloBuilder& b,
                const HloValues& x) {
  return hlo_reduce_window(b, x, {b.splat({x[0].type.dtype, {}}, init(x[0].type.dtype))},
                           window_of(op), op.outputs[0].dims,
                           [&](const HloValues& v) { return HloValues{hlo_map(b, combine, v)}; });
}

double window_flops(const OpNode& op) {
  double flops = static_cast<double>(op.outputs[0].num_elements());
  for (const SlidingDim& d : window_of(op)) flops *= static_cast<double>(d.size);
  return flops;
}

Values sum_vjp(X x, Y, Ct g);

const OpRules reduce_window_sum_rules(
    {.name = "reduce_window_sum",
     .infer = infer_sum,
     .batch = batch_windows,
     .vjp = sum_vjp,
     .eval = fold(zero_value,
                  []<RealOrComplex T>(T a, T b) {
                    return wrapping(a, b, [](auto p, auto q) { return p + q; });
                  }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower("add", zero_value, op, b, x); },
     .cost = window_flops});

// Each element gets the sum of the cotangents of the windows over it.
Values sum_vjp(X x, Y y, Ct g) {
  const SlidingWindow back = transposed(window_of(x.op()), x[0].shape(), y[0].shape());
  return {emit(reduce_window_sum_rules, {g[0]}, SlidingAttributes(back))};
}

const OpRules reduce_window_max_rules(
    {.name = "reduce_window_max",
     .infer = infer_extremum,
     .batch = batch_windows,
     .vjp =
         [](X x, Y, Ct g) {
           return Values{add_to_selected(x[0], g[0], window_of(x.op()), WindowSelect::kLargest)};
         },
     .eval = fold(lowest_value, []<Number T>(T a, T b) { return detail::larger(a, b); }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower("maximum", lowest_value, op, b, x); },
     .cost = window_flops});

const OpRules reduce_window_min_rules(
    {.name = "reduce_window_min",
     .infer = infer_extremum,
     .batch = batch_windows,
     .vjp =
         [](X x, Y, Ct g) {
           return Values{add_to_selected(x[0], g[0], window_of(x.op()), WindowSelect::kLeast)};
         },
     .eval = fold(highest_value, []<Number T>(T a, T b) { return detail::smaller(a, b); }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower("minimum", highest_value, op, b, x); },
     .cost = window_flops});

Tensor apply(const OpRules& rules, const Tensor& x, const Window& window) {
  return emit(rules, {x}, SlidingAttributes(sliding_window(rules.name(), window, x.shape(), {x})));
}

}  // namespace

Tensor reduce_window_sum(const Tensor& x, const Window& window) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  return astype(apply(reduce_window_sum_rules, wide, window), x.dtype());
}
Tensor reduce_window_max(const Tensor& x, const Window& window) {
  return apply(reduce_window_max_rules, x, window);
}
Tensor reduce_window_min(const Tensor& x, const Window& window) {
  return apply(reduce_window_min_rules, x, window);
}

}  // namespace axle
