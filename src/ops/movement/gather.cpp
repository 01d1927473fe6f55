#include <fmt/format.h>

#include <algorithm>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/movement/window_rules.h"
#include "ops/rules.h"

namespace axle {
namespace {

const WindowAttributes& gather_window(const OpNode& op) { return op.attrs<WindowAttributes>(); }

std::vector<Type> infer_gather(const OpNode& op) {
  if (gather_window(op).sizes.size() != op.inputs[0].shape().size()) {
    shape_error(op, fmt::format("expected a window of {} dims, got {}", op.inputs[0].rank(),
                                to_text(gather_window(op).sizes)));
  }
  check_windows(op);
  return {Type{op.inputs[0].dtype(), slices_shape(op)}};
}

// The gradient goes to the window that was read, after it was moved inside. It is summed in f32,
// since a common token may occur thousands of times.
Values vjp_gather(X x, Y, Ct g) {
  const auto& a = gather_window(x.op());
  Tensor indices = x[1];
  WindowPromises promises = a.promises;
  if (!promises.in_bounds) {
    indices = positions_inside(a, x[0], x[1]);
    // Positions of several components may change their order when they are moved.
    promises.sorted &= a.dims.index_map.size() <= 1;
  }
  const DType sum_dtype = wide_dtype(x[0].dtype());
  const Tensor sum =
      scatter_add(zeros(x[0].shape(), sum_dtype), indices, astype(g[0], sum_dtype), a.dims,
                  {.mode = ScatterMode::kPromiseInBounds,
                   .indices_are_sorted = promises.sorted,
                   .unique_indices = promises.unique});
  return {astype(sum, x[0].dtype()), Tensor()};
}

void eval_gather(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                 std::span<HostTensor> y) {
  const auto& a = gather_window(op);
  const WindowWalk walk(a.dims, a.sizes, x[0]->shape(), *x[1], y[0].shape());
  dispatch_size(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const T* in = x[0]->elements<T>().data();
    T* out = y[0].elements<T>().data();
    walk.each(WindowWalk::OutOfBounds::kClamp,
              [&](int64_t from, int64_t to) { out[to] = in[from]; });
  });
}

HloValues lower_gather(const OpNode& op, HloBuilder& b, const HloValues& x) {
  constexpr WindowDimNames kNames{"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                                  "start_indices_batching_dims", "start_index_map"};
  const auto& a = gather_window(op);
  return {b.one("stablehlo.gather", x, op.outputs[0],
                fmt::format("dimension_numbers = #stablehlo.gather<{}>, indices_are_sorted = {}, "
                            "slice_sizes = {}",
                            mlir_dims(a.dims, kNames), a.promises.sorted, mlir_array(a.sizes)))};
}

std::vector<Batched> batch_gather(BatchX x) {
  const auto& a = gather_window(x.op());
  const bool has_operand = x.is_batched(0), has_indices = x.is_batched(1);
  Shape sizes = a.sizes;
  if (has_operand) {
    const int64_t size = x.axis().size;
    sizes = prepended(has_indices ? std::min<int64_t>(size, 1) : size, a.sizes);
  }
  return all_batched(
      {emit(*x.op().rules, {x[0], x[1]},
            WindowAttributes(batched_dims(a.dims, has_operand, has_indices), sizes,
                             batched_promises(a.promises, has_operand, has_indices)))});
}

const OpRules gather_rules({.name = "gather",
                            .infer = infer_gather,
                            .batch = batch_gather,
                            .vjp = vjp_gather,
                            .eval = eval_gather,
                            .hlo = lower_gather,
                            .cost = {0, read_part_bytes}});

// The value that no valid index returns, as far as the dtype has one.
Scalar default_fill(DType dtype) {
  if (is_differentiable(dtype)) return std::numeric_limits<double>::quiet_NaN();
  return dispatch(dtype, []<class T>(std::type_identity<T>) -> Scalar {
    using Integer = Computed<T>;
    if constexpr (std::is_same_v<T, bool>)
      return true;
    else if constexpr (std::is_integral_v<Integer>)
      return std::is_signed_v<Integer> ? IntegerRange<T>::kMin : IntegerRange<T>::kMax;
    else
      return 0;
  });
}

}  // namespace

Tensor gather(const Tensor& operand, const Tensor& indices, const GatherDims& dims,
              const Shape& sizes, const GatherOptions& options) {
  Shape own = sizes;  // a window has no element along an empty batch dim
  for (const int64_t d : dims.operand_batch) {
    if (d < 0 || d >= std::min<int64_t>(operand.rank(), std::ssize(own)))
      continue;  // infer says so
    int64_t& size = own[d];
    size = std::min(size, operand.dim(d));
  }
  const WindowAttributes a(dims, std::move(own),
                           {.in_bounds = options.mode != GatherMode::kClip,
                            .sorted = options.indices_are_sorted,
                            .unique = options.unique_indices});
  const Tensor slices = emit(gather_rules, {operand, indices}, a);
  if (options.mode != GatherMode::kFill) return slices;
  // Dropped slices have no gradient, so that the gather above need not move their windows.
  const Tensor is_inside = windows_inside(a, operand, indices, slices);
  const Scalar fill = options.fill.value_or(default_fill(operand.dtype()));
  return select(is_inside, slices, full_for("gather", operand, slices.shape(), fill));
}

}  // namespace axle
