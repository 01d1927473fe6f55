#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/combine.h"
#include "ops/rules.h"
#include "ops/windows/windows.h"

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
                                       .eval = fold<combine::Add>(walk_windows),
                                       .hlo = lower_window<combine::Add>,
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
                                       .eval = fold<combine::Larger>(walk_windows),
                                       .hlo = lower_window<combine::Larger>,
                                       .cost = window_flops});

const OpRules reduce_window_min_rules({.name = "reduce_window_min",
                                       .infer = infer_window_extremum,
                                       .batch = batch_windows,
                                       .vjp = selected_vjp<WindowSelect::kLeast>,
                                       .eval = fold<combine::Smaller>(walk_windows),
                                       .hlo = lower_window<combine::Smaller>,
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

namespace {

// Returns the window over all dims: of size 1 along the batch and the features.
Window whole_window(std::string_view op, const Tensor& x, const PoolOptions& options) {
  const size_t num_spatial = options.window.size();
  if (x.shape().size() != num_spatial + 2) {
    shape_error(op,
                fmt::format("expected an operand of {} dims for a window of {}, got {}",
                            num_spatial + 2, to_text(options.window), x.rank()),
                {x});
  }
  const auto extended = [](const Shape& list) {
    Shape out = list;
    if (out.empty()) return out;
    out.insert(out.begin(), 1);
    out.push_back(1);
    return out;
  };
  Window out{.sizes = extended(options.window), .strides = extended(options.strides)};
  if (const auto& dims = options.padding.dims()) {
    std::vector<DimPadding> padding = *dims;
    padding.insert(padding.begin(), DimPadding{});
    padding.emplace_back();
    out.padding = padding;
  } else {
    out.padding = options.padding.rule();
  }
  return out;
}

}  // namespace

Tensor max_pool(const Tensor& x, const PoolOptions& options) {
  return reduce_window_max(x, whole_window("max_pool", x, options));
}

Tensor min_pool(const Tensor& x, const PoolOptions& options) {
  return reduce_window_min(x, whole_window("min_pool", x, options));
}

Tensor avg_pool(const Tensor& x, const PoolOptions& options, PoolCount count) {
  if (!is_float(x.dtype()))
    shape_error("avg_pool", fmt::format("expected floats, got {}", name_of(x.dtype())), {x});
  if (const DType wide = wide_dtype(x.dtype()); wide != x.dtype())
    return astype(avg_pool(astype(x, wide), options, count), x.dtype());
  const Window window = whole_window("avg_pool", x, options);
  const Tensor total = reduce_window_sum(x, window);
  if (count == PoolCount::kWindow) return total / static_cast<double>(num_elements(options.window));
  // The number of elements is the same for all examples and features.
  Shape one = x.shape();
  one.front() = one.back() = 1;
  const Tensor counts = reduce_window_sum(ones(one, x.dtype()), window);
  return total / broadcast_to(counts, total.shape());
}

namespace {

// An element of a window that lies on an element of the operand: their offsets along one dim.
struct SlideStep {
  int64_t x, window;
};
// The steps of one dim, for each position of the window.
using SlideSteps = std::vector<std::vector<SlideStep>>;

SlideSteps slide_steps(const SlidingDim& dim, int64_t size, int64_t count, int64_t x_stride,
                       int64_t window_stride) {
  SlideSteps out(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < dim.size; ++k) {
      const int64_t place = i * dim.stride - dim.low + k * dim.window_dilation;
      if (place < 0 || place % dim.base_dilation != 0 || place / dim.base_dilation >= size)
        continue;
      out[i].push_back({place / dim.base_dilation * x_stride, k * window_stride});
    }
  }
  return out;
}

template <class F>
void each_step(const std::vector<SlideSteps>& steps, const Shape& position, SlideStep at, F& fn,
               size_t d = 0) {
  if (d == steps.size()) return fn(at);
  for (const SlideStep& s : steps[d][position[d]])
    each_step(steps, position, SlideStep{at.x + s.x, at.window + s.window}, fn, d + 1);
}

}  // namespace

void slide(const SlidingWindow& window, const Shape& x, const Shape& y, const SlideStrides& strides,
           const std::function<void(size_t, size_t, size_t)>& fn) {
  std::vector<SlideSteps> steps;
  for (size_t d = 0; d < window.size(); ++d)
    steps.push_back(slide_steps(window[d], x[d], y[d], strides.x[d], strides.window[d]));
  for_each_index(y, [&](const Shape& position) {
    int64_t to = 0;
    for (size_t d = 0; d < position.size(); ++d) to += position[d] * strides.y[d];
    const auto call = [&](const SlideStep& s) {
      fn(static_cast<size_t>(to), static_cast<size_t>(s.x), static_cast<size_t>(s.window));
    };
    each_step(steps, position, SlideStep{0, 0}, call);
  });
}

void slide(const SlidingWindow& window, const Shape& x, const Shape& y,
           const std::function<void(size_t, size_t)>& fn) {
  slide(window, x, y, {row_major_strides(x), Shape(x.size(), 0), row_major_strides(y)},
        [&](size_t to, size_t from, size_t) { fn(to, from); });
}

}  // namespace axle
