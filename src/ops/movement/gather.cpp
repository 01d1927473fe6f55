#include "ops/movement/gather.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/batching.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/window_walk.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct WindowAttributes : Attributes {
  WindowAttributes(WindowDims d, Shape s) : dims(std::move(d)), sizes(std::move(s)) {}
  WindowDims dims;
  Shape sizes;  // size of the window along each dim of the operand
  std::string text() const override {
    std::string out = fmt::format(
        "sizes = {}, offset = {}, collapsed = {}, index_map = {}, index_vector_dim = {}",
        to_text(sizes), to_text(dims.offset), to_text(dims.collapsed), to_text(dims.index_map),
        dims.index_vector_dim);
    if (!dims.operand_batch.empty()) {
      out += fmt::format(", batch = {} x {}", to_text(dims.operand_batch),
                         to_text(dims.indices_batch));
    }
    return out;
  }
};

const WindowAttributes& window(const OpNode& op) { return op.attrs<WindowAttributes>(); }

void check_windows(const OpNode& op) {
  const auto& [dims, sizes] = std::tie(window(op).dims, window(op).sizes);
  const Tensor &operand = op.inputs[0], &indices = op.inputs[1];
  if (!is_integer(indices.dtype()))
    shape_error(op, fmt::format("indices must be integers, got {}", name_of(indices.dtype())));
  if (dims.index_vector_dim < 0 || dims.index_vector_dim > indices.rank()) {
    shape_error(op, fmt::format("no dim {} of the indices {}", dims.index_vector_dim,
                                to_text(indices.shape())));
  }
  const int64_t components =
      dims.index_vector_dim == indices.rank() ? 1 : indices.dim(dims.index_vector_dim);
  if (components != static_cast<int64_t>(dims.index_map.size())) {
    shape_error(op, fmt::format("positions have {} components, but index_map has {}", components,
                                dims.index_map.size()));
  }
  for (const auto* list : {&dims.collapsed, &dims.operand_batch, &dims.index_map}) {
    for (const int64_t d : *list) {
      if (d < 0 || d >= operand.rank()) shape_error(op, fmt::format("no dim {} of the operand", d));
    }
  }
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)];
    const bool dropped = has_dim(dims.collapsed, d) || has_dim(dims.operand_batch, d);
    if (size < 0 || size > operand.dim(d) || (dropped && size > 1)) {
      shape_error(op, fmt::format("a window of size {} does not fit dim {} of size {}", size, d,
                                  operand.dim(d)));
    }
  }
  if (dims.operand_batch.size() != dims.indices_batch.size()) {
    shape_error(op, fmt::format("batch dims must pair up, got {} and {}",
                                to_text(dims.operand_batch), to_text(dims.indices_batch)));
  }
  for (size_t i = 0; i < dims.operand_batch.size(); ++i) {
    if (operand.dim(dims.operand_batch[i]) != indices.dim(dims.indices_batch.at(i))) {
      shape_error(op, fmt::format("batch dims differ, operand[{}] = {} and indices[{}] = {}",
                                  dims.operand_batch[i], operand.dim(dims.operand_batch[i]),
                                  dims.indices_batch[i], indices.dim(dims.indices_batch[i])));
    }
  }
}

Shape slices_shape(const OpNode& op) {
  const auto& [dims, sizes] = std::tie(window(op).dims, window(op).sizes);
  Shape in_window, positions;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (!has_dim(dims.collapsed, dim) && !has_dim(dims.operand_batch, dim))
      in_window.push_back(sizes[d]);
  }
  for (int64_t d = 0; d < op.inputs[1].rank(); ++d) {
    if (d != dims.index_vector_dim) positions.push_back(op.inputs[1].dim(d));
  }
  if (in_window.size() != dims.offset.size()) {
    shape_error(op, fmt::format("windows have {} dims, but offset names {}", in_window.size(),
                                dims.offset.size()));
  }
  const auto rank = static_cast<int64_t>(in_window.size() + positions.size());
  for (size_t i = 0; i < dims.offset.size(); ++i) {
    if (dims.offset[i] < (i == 0 ? 0 : dims.offset[i - 1] + 1) || dims.offset[i] >= rank) {
      shape_error(
          op, fmt::format("offset dims must ascend below {}, got {}", rank, to_text(dims.offset)));
    }
  }
  Shape out;
  for (size_t d = 0, w = 0, p = 0; d < in_window.size() + positions.size(); ++d) {
    out.push_back(has_dim(dims.offset, static_cast<int64_t>(d)) ? in_window.at(w++)
                                                                : positions.at(p++));
  }
  return out;
}

std::vector<Type> infer_gather(const OpNode& op) {
  if (window(op).sizes.size() != op.inputs[0].shape().size()) {
    shape_error(op, fmt::format("expected a window of {} dims, got {}", op.inputs[0].rank(),
                                to_text(window(op).sizes)));
  }
  check_windows(op);
  return {Type{op.inputs[0].dtype(), slices_shape(op)}};
}

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

// Returns the window sizes along the dims of the operand, read from the updates of a scatter.
Shape update_window(const Tensor& operand, const Tensor& updates, const WindowDims& dims) {
  Shape sizes;
  size_t w = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const bool dropped = has_dim(dims.collapsed, d) || has_dim(dims.operand_batch, d);
    sizes.push_back(dropped || w >= dims.offset.size() ? std::min<int64_t>(operand.dim(d), 1)
                                                       : updates.dim(dims.offset[w++]));
  }
  return sizes;
}

// Returns, for each component, the last position whose window is inside the operand, in the shape
// of the indices.
Tensor last_positions(const OpNode& op) {
  const auto& [dims, sizes] = std::tie(window(op).dims, window(op).sizes);
  const Tensor& indices = op.inputs[1];
  std::vector<int64_t> last;
  for (const int64_t d : dims.index_map)
    last.push_back(op.inputs[0].dim(d) - sizes[static_cast<size_t>(d)]);
  if (std::ranges::all_of(last, [&](int64_t v) { return v == last[0]; })) {
    return full_like(indices, last.empty() ? 0 : last[0]);
  }
  const HostTensor table({static_cast<int64_t>(last.size())}, std::span<const int64_t>(last));
  return broadcast_in_dim(constant(table.astype(indices.dtype())), indices.shape(),
                          {dims.index_vector_dim});
}

// Returns `slices` with zeros for windows that reach outside the operand.
Tensor zero_outside(const OpNode& op, const Tensor& slices) {
  const auto& dims = window(op).dims;
  const Tensor& indices = op.inputs[1];
  Tensor inside = (indices >= 0) & (indices <= last_positions(op));
  if (dims.index_vector_dim < indices.rank()) inside = reduce_and(inside, {dims.index_vector_dim});
  std::vector<int64_t> positions;
  for (int64_t d = 0; d < slices.rank(); ++d) {
    if (!has_dim(dims.offset, d)) positions.push_back(d);
  }
  return select(broadcast_in_dim(inside, slices.shape(), positions), slices, zeros_like(slices));
}

// The gradient of a gather goes to the window that was read, after it was moved inside. It is
// summed in f32, since a common token may occur thousands of times.
Values vjp_gather(X x, Y, Ct g) {
  const Tensor moved = minimum(maximum(x[1], 0), last_positions(x.op()));
  const DType sum_dtype = wide_dtype(x[0].dtype());
  const Tensor sum = scatter_add(zeros(x[0].shape(), sum_dtype), moved, astype(g[0], sum_dtype),
                                 window(x.op()).dims);
  return {astype(sum, x[0].dtype()), Tensor()};
}

Values vjp_scatter_add(X x, Y, Ct g) {
  const auto& a = window(x.op());
  return {g[0], Tensor(), zero_outside(x.op(), gather(g[0], x[1], a.dims, a.sizes))};
}

Values vjp_scatter(X x, Y, Ct g) {
  const auto& a = window(x.op());
  return {scatter(g[0], x[1], zeros_like(x[2]), a.dims), Tensor(),
          zero_outside(x.op(), gather(g[0], x[1], a.dims, a.sizes))};
}

void eval_gather(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                 std::span<HostTensor> y) {
  const auto& a = window(op);
  const WindowWalk walk(a.dims, a.sizes, x[0]->shape(), *x[1], y[0].shape());
  dispatch_size(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const T* in = x[0]->elements<T>().data();
    T* out = y[0].elements<T>().data();
    walk.each(WindowWalk::OutOfBounds::kClamp,
              [&](int64_t from, int64_t to) { out[to] = in[from]; });
  });
}

template <bool kAdd>
void eval_scatter(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                  std::span<HostTensor> y) {
  const auto& a = window(op);
  y[0] = *x[0];
  const WindowWalk walk(a.dims, a.sizes, x[0]->shape(), *x[1], x[2]->shape());
  dispatch_any(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const T* in = x[2]->values<T>().data();
    T* out = y[0].values<T>().data();
    walk.each(WindowWalk::OutOfBounds::kDrop, [&](int64_t to, int64_t from) {
      using C = Computed<T>;
      if constexpr (!kAdd)
        out[to] = in[from];
      else if constexpr (std::is_same_v<T, bool>)
        out[to] = out[to] || in[from];
      else
        out[to] = convert_element<T>(
            detail::wrapping(C(out[to]), C(in[from]), [](auto p, auto q) { return p + q; }));
    });
  });
}

// Names of the dimension lists in the MLIR attribute of gather or scatter.
struct DimNames {
  std::string_view offset, collapsed, operand_batch, indices_batch, index_map;
};

std::string mlir_dims(const WindowDims& dims, const DimNames& names) {
  std::string out;
  const auto add = [&](std::string_view key, const std::vector<int64_t>& list) {
    if (!list.empty()) out += fmt::format("{} = [{}], ", key, fmt::join(list, ", "));
  };
  add(names.offset, dims.offset);
  add(names.collapsed, dims.collapsed);
  add(names.operand_batch, dims.operand_batch);
  add(names.indices_batch, dims.indices_batch);
  add(names.index_map, dims.index_map);
  return fmt::format("{}index_vector_dim = {}", out, dims.index_vector_dim);
}

HloValues lower_gather(const OpNode& op, HloBuilder& b, const HloValues& x) {
  constexpr DimNames kNames{"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                            "start_indices_batching_dims", "start_index_map"};
  return {b.one(
      "stablehlo.gather", x, op.outputs[0],
      fmt::format(
          "dimension_numbers = #stablehlo.gather<{}>, indices_are_sorted = false, slice_sizes = {}",
          mlir_dims(window(op).dims, kNames), mlir_array(window(op).sizes)))};
}

template <bool kAdd>
HloValues lower_scatter(const OpNode& op, HloBuilder& b, const HloValues& x) {
  constexpr DimNames kNames{"update_window_dims", "inserted_window_dims", "input_batching_dims",
                            "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"};
  const Type element{op.outputs[0].dtype, {}};
  const HloRegion combine{{element, element}, [&](const HloValues& old_and_new) -> HloValues {
                            if (!kAdd) return {old_and_new[1]};
                            return {b.one("stablehlo.add", old_and_new, element)};
                          }};
  return {b.one(
      "stablehlo.scatter", x, op.outputs[0],
      fmt::format("indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<{}>, "
                  "unique_indices = false",
                  mlir_dims(window(op).dims, kNames)),
      {combine})};
}

// Returns the dims of windows over batched slices. The batch is a batch dim if both the operand and
// the indices have it, a position dim if only the indices have it, else a dim of each window.
WindowDims batched_dims(const WindowDims& dims, bool has_operand, bool has_indices) {
  WindowDims out = dims;
  out.offset = shifted(dims.offset);
  if (has_operand) {
    for (auto* list : {&out.collapsed, &out.operand_batch, &out.index_map}) *list = shifted(*list);
  }
  if (has_indices) {
    out.indices_batch = shifted(dims.indices_batch);
    ++out.index_vector_dim;
  }
  if (has_operand && has_indices) {
    out.operand_batch = prepended(0, out.operand_batch);
    out.indices_batch = prepended(0, out.indices_batch);
  } else if (has_operand) {
    out.offset = prepended(0, out.offset);
  }
  return out;
}

std::vector<Batched> batch_gather(BatchX x) {
  const auto& a = window(x.op());
  const bool has_operand = x.is_batched(0), has_indices = x.is_batched(1);
  Shape sizes = a.sizes;
  if (has_operand) sizes = prepended(has_indices ? 1 : x.axis().size, a.sizes);
  return all_batched({gather(x[0], x[1], batched_dims(a.dims, has_operand, has_indices), sizes)});
}

std::vector<Batched> batch_scatter(BatchX x) {
  const auto& a = window(x.op());
  const WindowDims dims = batched_dims(a.dims, true, x.is_batched(1));
  const Tensor operand = with_batch_dim(x, 0), updates = with_batch_dim(x, 2);
  return all_batched({emit(*x.op().rules, {operand, x[1], updates},
                           WindowAttributes(dims, update_window(operand, updates, dims)))});
}

const OpRules gather_rules({.name = "gather",
                            .infer = infer_gather,
                            .batch = batch_gather,
                            .vjp = vjp_gather,
                            .eval = eval_gather,
                            .hlo = lower_gather,
                            .cost = {0, read_part_bytes}});

const OpRules scatter_add_rules({.name = "scatter_add",
                                 .infer = infer_scatter,
                                 .batch = batch_scatter,
                                 .vjp = vjp_scatter_add,
                                 .eval = eval_scatter<true>,
                                 .hlo = lower_scatter<true>,
                                 .cost = {[](const OpNode& op) {
                                            const Type& updates = op.inputs[2].type();
                                            return static_cast<double>(updates.num_elements());
                                          },
                                          written_part_bytes}});

const OpRules scatter_rules({.name = "scatter",
                             .infer = infer_scatter,
                             .batch = batch_scatter,
                             .vjp = vjp_scatter,
                             .eval = eval_scatter<false>,
                             .hlo = lower_scatter<false>,
                             .cost = {0, written_part_bytes}});

}  // namespace

Tensor gather(const Tensor& operand, const Tensor& indices, const WindowDims& dims,
              const Shape& sizes) {
  Shape own = sizes;  // a window has no element along an empty batch dim
  for (const int64_t d : dims.operand_batch) {
    if (d < 0 || d >= std::min<int64_t>(operand.rank(), std::ssize(own)))
      continue;  // infer says so
    int64_t& size = own[static_cast<size_t>(d)];
    size = std::min(size, operand.dim(d));
  }
  return emit(gather_rules, {operand, indices}, WindowAttributes(dims, own));
}
Tensor scatter_add(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const WindowDims& dims) {
  return emit(scatter_add_rules, {operand, indices, updates},
              WindowAttributes(dims, update_window(operand, updates, dims)));
}
Tensor scatter(const Tensor& operand, const Tensor& indices, const Tensor& updates,
               const WindowDims& dims) {
  return emit(scatter_rules, {operand, indices, updates},
              WindowAttributes(dims, update_window(operand, updates, dims)));
}

}  // namespace axle
