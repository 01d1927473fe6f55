#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/movement/window_rules.h"
#include "ops/rules.h"

namespace axle {
namespace {

using detail::wrapping;

const WindowAttributes& scatter_window(const OpNode& op) { return op.attrs<WindowAttributes>(); }

std::vector<Type> infer_scatter(const OpNode& op) {
  const Tensor &operand = op.inputs[0], &updates = op.inputs[2];
  check_windows(op);
  if (updates.dtype() != operand.dtype()) {
    shape_error(op, fmt::format("updates must have the dtype of the operand, got {} and {}",
                                name_of(updates.dtype()), name_of(operand.dtype())));
  }
  const Shape expected = slices_shape(op);
  if (updates.shape() != expected) {
    shape_error(op, fmt::format("expected updates of {}, got {}", to_text(expected),
                                to_text(updates.shape())));
  }
  return {operand.type()};
}

std::vector<Type> infer_scatter_extremum(const OpNode& op) {
  check_ordered(op);
  return infer_scatter(op);
}

// Returns the window sizes along the dims of the operand, read from the updates of a scatter.
Shape update_window(const Tensor& operand, const Tensor& updates, const GatherDims& dims) {
  Shape sizes;
  size_t w = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const bool names_size = !is_dropped(dims, d) && w < dims.offset.size();
    const int64_t from = names_size ? dims.offset[w++] : -1;
    const bool is_dim = from >= 0 && from < updates.rank();  // if not, the infer rule says so
    sizes.push_back(is_dim ? updates.dim(from) : std::min<int64_t>(operand.dim(d), 1));
  }
  return sizes;
}

Tensor emit_scatter(const OpRules& rules, const Tensor& operand, const Tensor& indices,
                    const Tensor& updates, const GatherDims& dims, const ScatterOptions& options) {
  check_gather_dims(rules.name(), dims, operand, indices);
  const WindowAttributes a(dims, update_window(operand, updates, dims),
                           {.in_bounds = options.mode != ScatterMode::kDrop,
                            .sorted = options.indices_are_sorted,
                            .unique = options.unique_indices});
  if (options.mode != ScatterMode::kClip) return emit(rules, {operand, indices, updates}, a);
  WindowAttributes moved = a;
  // Positions of several components may change their order when they are moved.
  moved.promises.sorted &= dims.index_map.size() <= 1;
  return emit(rules, {operand, positions_inside(a, operand, indices), updates}, moved);
}

// Options with which another scatter or gather visits the windows of this one.
ScatterOptions options_of(const OpNode& op) {
  const WindowPromises& p = scatter_window(op).promises;
  return {.mode = p.in_bounds ? ScatterMode::kPromiseInBounds : ScatterMode::kDrop,
          .indices_are_sorted = p.sorted,
          .unique_indices = p.unique};
}

// Returns the windows of x at the positions of the scatter, and zeros for those that it drops.
Tensor windows_of(const OpNode& op, const Tensor& x) {
  const auto& a = scatter_window(op);
  return gather(x, op.inputs[1], a.dims, a.sizes,
                {.mode = a.promises.in_bounds ? GatherMode::kPromiseInBounds : GatherMode::kFill,
                 .fill = 0,
                 .indices_are_sorted = a.promises.sorted,
                 .unique_indices = a.promises.unique});
}

Values vjp_scatter_add(X x, Y, Ct g) { return {g[0], Tensor(), windows_of(x.op(), g[0])}; }

Values vjp_scatter(X x, Y, Ct g) {
  return {scatter(g[0], x[1], zeros_like(x[2]), scatter_window(x.op()).dims, options_of(x.op())),
          Tensor(), windows_of(x.op(), g[0])};
}

// Returns the product of the elements of x[M] before each one (after it, if `later`) in its run of
// equal `keys`, which are sorted: 1 for the first one. It takes log2(M) steps of products alone, so
// that its derivatives of every order are right where elements are zero.
Tensor product_of_run(const Tensor& keys, const Tensor& x, bool later) {
  const auto moved = [&](const Tensor& t, int64_t n, Scalar fill) {
    return later ? pad_in_dim(t, 0, -n, n, fill) : pad_in_dim(t, 0, n, -n, fill);
  };
  const auto in_run = [&](const Tensor& t, int64_t n) {
    return select(equal(moved(keys, n, -2), keys), moved(t, n, 1), 1);
  };
  Tensor out = in_run(x, 1);
  for (int64_t n = 1; n < x.dim(0); n *= 2) out = out * in_run(out, n);
  return out;
}

// Returns, for each element of the updates, the product of the other updates of its position.
Tensor product_of_others(const OpNode& op) {
  const Tensor &operand = op.inputs[0], &updates = op.inputs[2];
  const int64_t size = operand.type().num_elements();
  const DType index = size < std::numeric_limits<int32_t>::max() ? DType::kI32 : DType::kI64;
  // Positions count from 1; 0 for dropped updates.
  const Tensor place = windows_of(op, reshape(iota({size}, 0, index) + 1, operand.shape()));
  const Tensor places_M = flatten(place), updates_M = flatten(updates);
  const Tensor order_M = argsort(places_M), back_M = argsort(order_M);
  const Tensor keys = take(places_M, order_M), sorted = take(updates_M, order_M);
  const Tensor others = product_of_run(keys, sorted, false) * product_of_run(keys, sorted, true);
  return select(equal(place, 0), 0, reshape(take(others, back_M), updates.shape()));
}

Values vjp_scatter_mul(X x, Y, Ct g) {
  const OpNode& op = x.op();
  const ScatterOptions options = options_of(op);
  const Tensor operand_gradient = scatter_mul(g[0], x[1], x[2], scatter_window(op).dims, options);
  const Tensor gradient = windows_of(op, g[0] * x[0]);
  if (options.unique_indices || x[2].type().num_elements() == 0)
    return {operand_gradient, Tensor(), gradient};
  return {operand_gradient, Tensor(), gradient * product_of_others(op)};
}

// The vjp of the least and the largest: all that equal the result share its gradient.
Values vjp_extremum(X x, Y y, Ct g) {
  const OpNode& op = x.op();
  const DType dtype = x[0].dtype();
  const Tensor is_kept = equal(x[0], y[0]), is_chosen = equal(x[2], windows_of(op, y[0]));
  const Tensor sharers = scatter_add(astype(is_kept, dtype), x[1], astype(is_chosen, dtype),
                                     scatter_window(op).dims, options_of(op));
  const Tensor share = g[0] / maximum(sharers, 1);  // NaN equals nothing, not even itself
  return {select(is_kept, share, 0), Tensor(), select(is_chosen, windows_of(op, share), 0)};
}

// Returns the eval rule that combines an element with each of its updates by f(old, update).
template <class F>
EvalRule combining(F f) {
  return [f](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
             std::span<HostTensor> y) {
    const auto& a = scatter_window(op);
    y[0] = *x[0];
    const WindowWalk walk(a.dims, a.sizes, x[0]->shape(), *x[1], x[2]->shape());
    dispatch_any(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
      using C = Computed<T>;
      if constexpr (std::is_invocable_v<F, C, C>) {
        const T* in = x[2]->values<T>().data();
        T* out = y[0].values<T>().data();
        walk.each(WindowWalk::OutOfBounds::kDrop, [&](int64_t to, int64_t from) {
          out[to] = convert_element<T>(f(C(out[to]), C(in[from])));
        });
      }
    });
  };
}

// Lowers to a scatter whose region is one StableHLO op, or takes the update if there is no name.
HloValues lower_scatter(const char* name, const OpNode& op, HloBuilder& b, const HloValues& x) {
  constexpr WindowDimNames kNames{"update_window_dims", "inserted_window_dims",
                                  "input_batching_dims", "scatter_indices_batching_dims",
                                  "scatter_dims_to_operand_dims"};
  const auto& a = scatter_window(op);
  const Type element{op.outputs[0].dtype, {}};
  const HloRegion combine{{element, element}, [&](const HloValues& old_and_new) -> HloValues {
                            if (!name) return {old_and_new[1]};
                            return {hlo_map(b, name, old_and_new)};
                          }};
  return {b.one(
      "stablehlo.scatter", x, op.outputs[0],
      fmt::format("indices_are_sorted = {}, scatter_dimension_numbers = #stablehlo.scatter<{}>, "
                  "unique_indices = {}",
                  a.promises.sorted, mlir_dims(a.dims, kNames), a.promises.unique),
      {combine})};
}

std::vector<Batched> batch_scatter(BatchX x) {
  const auto& a = scatter_window(x.op());
  const GatherDims dims = batched_dims(a.dims, true, x.is_batched(1));
  const Tensor operand = with_batch_dim(x, 0), updates = with_batch_dim(x, 2);
  return all_batched({emit(*x.op().rules, {operand, x[1], updates},
                           WindowAttributes(dims, update_window(operand, updates, dims),
                                            batched_promises(a.promises, true, x.is_batched(1))))});
}

double num_updated_elements(const OpNode& op) {
  return static_cast<double>(op.inputs[2].type().num_elements());
}

const OpRules scatter_add_rules({.name = "scatter_add",
                                 .infer = infer_scatter,
                                 .batch = batch_scatter,
                                 .vjp = vjp_scatter_add,
                                 .eval = combining([]<class T>(T a, T b) -> T {
                                   if constexpr (std::is_same_v<T, bool>)
                                     return a || b;
                                   else
                                     return wrapping(a, b, [](auto p, auto q) { return p + q; });
                                 }),
                                 .hlo =
                                     [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                       return lower_scatter("add", op, b, x);
                                     },
                                 .cost = {num_updated_elements, written_part_bytes}});

const OpRules scatter_mul_rules({.name = "scatter_mul",
                                 .infer = infer_scatter,
                                 .batch = batch_scatter,
                                 .vjp = vjp_scatter_mul,
                                 .eval = combining([]<class T>(T a, T b) -> T {
                                   if constexpr (std::is_same_v<T, bool>)
                                     return a && b;
                                   else
                                     return wrapping(a, b, [](auto p, auto q) { return p * q; });
                                 }),
                                 .hlo =
                                     [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                       return lower_scatter("multiply", op, b, x);
                                     },
                                 .cost = {num_updated_elements, written_part_bytes}});

const OpRules scatter_min_rules(
    {.name = "scatter_min",
     .infer = infer_scatter_extremum,
     .batch = batch_scatter,
     .vjp = vjp_extremum,
     .eval = combining([]<detail::Ordered T>(T a, T b) { return detail::smaller(a, b); }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower_scatter("minimum", op, b, x); },
     .cost = {num_updated_elements, written_part_bytes}});

const OpRules scatter_max_rules(
    {.name = "scatter_max",
     .infer = infer_scatter_extremum,
     .batch = batch_scatter,
     .vjp = vjp_extremum,
     .eval = combining([]<detail::Ordered T>(T a, T b) { return detail::larger(a, b); }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower_scatter("maximum", op, b, x); },
     .cost = {num_updated_elements, written_part_bytes}});

const OpRules scatter_rules({.name = "scatter",
                             .infer = infer_scatter,
                             .batch = batch_scatter,
                             .vjp = vjp_scatter,
                             .eval = combining([](auto, auto b) { return b; }),
                             .hlo =
                                 [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                   return lower_scatter(nullptr, op, b, x);
                                 },
                             .cost = {0, written_part_bytes}});

}  // namespace

Tensor scatter_add(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options) {
  return emit_scatter(scatter_add_rules, operand, indices, updates, dims, options);
}
Tensor scatter_mul(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options) {
  return emit_scatter(scatter_mul_rules, operand, indices, updates, dims, options);
}
Tensor scatter_min(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options) {
  return emit_scatter(scatter_min_rules, operand, indices, updates, dims, options);
}
Tensor scatter_max(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options) {
  return emit_scatter(scatter_max_rules, operand, indices, updates, dims, options);
}
Tensor scatter(const Tensor& operand, const Tensor& indices, const Tensor& updates,
               const GatherDims& dims, const ScatterOptions& options) {
  return emit_scatter(scatter_rules, operand, indices, updates, dims, options);
}

}  // namespace axle
