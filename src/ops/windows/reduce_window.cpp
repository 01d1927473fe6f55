#include "ops/windows/reduce_window.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/elementwise/convert.h"
#include "ops/reductions/combine.h"
#include "ops/stablehlo.h"
#include "ops/windows/select_and_scatter.h"
#include "ops/windows/slide.h"
#include "ops/windows/window_stablehlo.h"

namespace axle {
namespace {

const SlidingWindow& window_of(const OpNode& op) { return op.attrs<SlidingAttributes>().window; }

std::vector<Type> infer_windows(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  return {Type{x.dtype, num_windows(op, window_of(op), x.dims)}};
}

std::vector<Type> infer_window_sum(const OpNode& op) {
  check_real_or_complex(op);
  return infer_windows(op);
}

std::vector<Type> infer_window_extremum(const OpNode& op) {
  check_numbers(op);
  return infer_windows(op);
}

std::vector<Batched> batch_windows(BatchX x) {
  return emit_batched(x, SlidingAttributes(with_batch_dim(window_of(x.op()))));
}

// Visits the elements under each window.
void walk_windows(const OpNode& op, const Shape& x, const Shape& y,
                  const std::function<void(const LinePair&)>& visit) {
  slide(window_of(op), x, y, [&](size_t to, size_t from) {
    visit({static_cast<int64_t>(from), static_cast<int64_t>(to), 0, 0, 1});
  });
}

template <class Combine>
HloValues lower_window(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const DType dtype = x[0].type.dtype;
  return hlo_reduce_window(
      b, x, {b.splat({dtype, {}}, Combine::identity(dtype))}, window_of(op), op.outputs[0].dims,
      [&](const HloValues& v) { return HloValues{hlo_map(b, Combine::kHlo, v)}; });
}

double window_flops(const OpNode& op) {
  double size = 1;
  for (const SlidingDim& d : window_of(op)) size *= static_cast<double>(d.size);
  return static_cast<double>(op.outputs[0].num_elements()) * (size - 1);
}

Values window_sum_vjp(X x, Y, Ct g);

const OpRules reduce_window_sum_rules({.name = "reduce_window_sum",
                                       .infer = infer_window_sum,
                                       .batch = batch_windows,
                                       .vjp = window_sum_vjp,
                                       .eval = fold<Add>(walk_windows),
                                       .hlo = lower_window<Add>,
                                       .cost = window_flops});

// Each element gets the sum of the cotangents of the windows over it.
Values window_sum_vjp(X x, Y y, Ct g) {
  const SlidingWindow back = transposed(window_of(x.op()), x[0].shape(), y[0].shape());
  return {emit(reduce_window_sum_rules, {g[0]}, SlidingAttributes(back))};
}

// The element that a window takes gets its cotangent.
template <WindowSelect kWhich>
Values selected_vjp(X x, Y, Ct g) {
  return {add_to_selected(x[0], g[0], window_of(x.op()), kWhich)};
}

const OpRules reduce_window_max_rules({.name = "reduce_window_max",
                                       .infer = infer_window_extremum,
                                       .batch = batch_windows,
                                       .vjp = selected_vjp<WindowSelect::kLargest>,
                                       .eval = fold<Larger>(walk_windows),
                                       .hlo = lower_window<Larger>,
                                       .cost = window_flops});

const OpRules reduce_window_min_rules({.name = "reduce_window_min",
                                       .infer = infer_window_extremum,
                                       .batch = batch_windows,
                                       .vjp = selected_vjp<WindowSelect::kLeast>,
                                       .eval = fold<Smaller>(walk_windows),
                                       .hlo = lower_window<Smaller>,
                                       .cost = window_flops});

Tensor apply_window(const OpRules& rules, const Tensor& x, const Window& window) {
  return emit(rules, {x}, SlidingAttributes(sliding_window(rules.name(), window, x.shape(), {x})));
}

}  // namespace

Tensor reduce_window_sum(const Tensor& x, const Window& window) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  return astype(apply_window(reduce_window_sum_rules, wide, window), x.dtype());
}
Tensor reduce_window_max(const Tensor& x, const Window& window) {
  return apply_window(reduce_window_max_rules, x, window);
}
Tensor reduce_window_min(const Tensor& x, const Window& window) {
  return apply_window(reduce_window_min_rules, x, window);
}

}  // namespace axle
