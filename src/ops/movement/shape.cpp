#include <fmt/format.h>

#include <numeric>

#include "ops/movement/movement.h"
#include "ops/movement/window_rules.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct ShapeAttributes : Attributes {
  explicit ShapeAttributes(Shape s) : shape(std::move(s)) {}
  Shape shape;
  std::string text() const override { return "shape = " + to_text(shape); }
};

struct AxesAttributes : Attributes {
  explicit AxesAttributes(std::vector<int64_t> a) : axes(std::move(a)) {}
  std::vector<int64_t> axes;
  std::string text() const override { return "axes = " + to_text(axes); }
};

const OpRules reshape_rules(
    {.name = "reshape",
     .infer =
         [](const OpNode& op) {
           const Type& x = op.inputs[0].type();
           const Type y{x.dtype, op.attrs<ShapeAttributes>().shape};
           if (x.num_elements() != y.num_elements()) {
             shape_error(op, fmt::format("expected {} elements, got {}", x.num_elements(),
                                         to_text(y.dims)));
           }
           return std::vector<Type>{y};
         },
     .batch =
         [](BatchX x) {
           return emit_batched(
               x, ShapeAttributes(prepended(x.axis().size, x.attrs<ShapeAttributes>().shape)));
         },
     .vjp = [](X x, Y, Ct g) { return Values{reshape(g[0], x[0].shape())}; },
     .eval = [](const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                std::span<HostTensor> y) { y[0] = x[0]->reshaped(y[0].shape()); },
     .hlo = "stablehlo.reshape",
     .cost = kView,
     .traits = {.cheap = true, .moves_elements = true}});

std::vector<Type> infer_transpose(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  const auto& perm = op.attrs<AxesAttributes>().axes;
  if (!std::ranges::is_permutation(perm, all_axes(op.inputs[0]))) {
    shape_error(op,
                fmt::format("expected a permutation of {} dims, got {}", x.rank(), to_text(perm)));
  }
  Type y{x.dtype, {}};
  for (const int64_t axis : perm) y.dims.push_back(x.dims[axis]);
  return {y};
}

std::vector<int64_t> inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> out(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) out[perm[i]] = static_cast<int64_t>(i);
  return out;
}

const OpRules transpose_rules(
    {.name = "transpose",
     .infer = infer_transpose,
     .batch =
         [](BatchX x) {
           return emit_batched(
               x, AxesAttributes(prepended(0, shifted(x.attrs<AxesAttributes>().axes))));
         },
     .vjp = [](X x, Y,
               Ct g) { return Values{transpose(g[0], inverse(x.attrs<AxesAttributes>().axes))}; },
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
            std::span<HostTensor> y) {
           const Shape strides = row_major_strides(x[0]->shape());
           Shape from;
           for (const int64_t axis : op.attrs<AxesAttributes>().axes) from.push_back(strides[axis]);
           copy_strided(y[0].shape(), *x[0], {0, from}, y[0], dense_view(y[0].shape()));
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           return HloValues{b.one("stablehlo.transpose", x, op.outputs[0],
                                  "permutation = " + mlir_array(op.attrs<AxesAttributes>().axes))};
         },
     .cost = kNoFlops,
     .traits = {.cheap = true, .moves_elements = true}});

const OpRules reverse_rules(
    {.name = "reverse",
     .infer = [](const OpNode& op) { return std::vector<Type>{op.inputs[0].type()}; },
     .batch =
         [](BatchX x) {
           return emit_batched(x, AxesAttributes(shifted(x.attrs<AxesAttributes>().axes)));
         },
     .vjp = [](X x, Y, Ct g) { return Values{reverse(g[0], x.attrs<AxesAttributes>().axes)}; },
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
            std::span<HostTensor> y) {
           const Shape& shape = y[0].shape();
           const Shape to = row_major_strides(shape);
           StridedView from{0, to};
           for (const int64_t axis : op.attrs<AxesAttributes>().axes) {
             const auto d = static_cast<size_t>(axis);
             from.offset += (shape[d] - 1) * to[d];
             from.strides[d] = -to[d];
           }
           copy_strided(shape, *x[0], from, y[0], {0, to});
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           return HloValues{b.one("stablehlo.reverse", x, op.outputs[0],
                                  "dimensions = " + mlir_array(op.attrs<AxesAttributes>().axes))};
         },
     .cost = kNoFlops,
     .traits = {.cheap = true, .moves_elements = true}});

}  // namespace

Tensor reshape(const Tensor& x, Shape shape) {
  if (const auto hole = std::ranges::find(shape, -1); hole != shape.end()) {
    *hole = 1;
    const int64_t others = num_elements(shape);
    if (std::ranges::count(shape, -1) > 0 || others == 0 || x.type().num_elements() % others != 0) {
      *hole = -1;
      shape_error("reshape",
                  "expected at most one -1, with a size that fits, got " + to_text(shape), {x});
    }
    *hole = x.type().num_elements() / others;
  }
  return x.shape() == shape ? x : emit(reshape_rules, {x}, ShapeAttributes(std::move(shape)));
}

Tensor transpose(const Tensor& x, const std::vector<int64_t>& perm) {
  std::vector<int64_t> axes;
  for (const int64_t axis : perm) axes.push_back(normalized_axis("transpose", x, axis));
  if (axes == all_axes(x)) return x;
  return emit(transpose_rules, {x}, AxesAttributes(std::move(axes)));
}

Tensor swap_axes(const Tensor& x, int64_t a, int64_t b) {
  std::vector<int64_t> perm = all_axes(x);
  std::swap(perm[normalized_axis("swap_axes", x, a)], perm[normalized_axis("swap_axes", x, b)]);
  return transpose(x, perm);
}

Tensor move_axis(const Tensor& x, int64_t from, int64_t to) {
  from = normalized_axis("move_axis", x, from);
  to = normalized_axis("move_axis", x, to);
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d != from) perm.push_back(d);
  }
  perm.insert(perm.begin() + to, from);
  return transpose(x, perm);
}

Tensor squeeze(const Tensor& x, const std::vector<int64_t>& axes) {
  Shape shape = x.shape();
  const auto dropped = normalized_axes("squeeze", x, axes);
  for (auto it = dropped.rbegin(); it != dropped.rend(); ++it) {
    if (x.dim(*it) != 1)
      shape_error("squeeze", fmt::format("expected dim {} of size 1, got {}", *it, x.dim(*it)),
                  {x});
    shape.erase(shape.begin() + *it);
  }
  return reshape(x, shape);
}

Tensor expand_dims(const Tensor& x, int64_t axis) {
  const int64_t at = axis < 0 ? axis + x.rank() + 1 : axis;
  if (at < 0 || at > x.rank())
    shape_error(
        "expand_dims",
        fmt::format("expected an axis from {} to {}, got {}", -x.rank() - 1, x.rank(), axis), {x});
  Shape shape = x.shape();
  shape.insert(shape.begin() + at, 1);
  return reshape(x, shape);
}

Tensor flatten(const Tensor& x, int64_t first, int64_t last) {
  // A scalar counts as a vector of one element.
  if (x.rank() == 0) return flatten(reshape(x, {1}), first, last);
  const int64_t from = normalized_axis("flatten", x, first);
  const int64_t to = normalized_axis("flatten", x, last);
  if (from > to) {
    shape_error("flatten",
                fmt::format("expected a first dim before the last one, got {} and {}", first, last),
                {x});
  }
  Shape shape(x.shape().begin(), x.shape().begin() + from);
  int64_t size = 1;
  for (int64_t d = from; d <= to; ++d) size *= x.dim(d);
  shape.push_back(size);
  shape.insert(shape.end(), x.shape().begin() + to + 1, x.shape().end());
  return reshape(x, shape);
}

Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes) {
  axis = normalized_axis("unflatten", x, axis);
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, sizes.begin(), sizes.end());
  return reshape(x, shape);
}

Tensor reverse(const Tensor& x, const std::vector<int64_t>& axes) {
  return emit(reverse_rules, {x}, AxesAttributes(normalized_axes("reverse", x, axes)));
}

namespace {

struct BroadcastAttributes : Attributes {
  BroadcastAttributes(Shape s, std::vector<int64_t> d) : shape(std::move(s)), dims(std::move(d)) {}
  Shape shape;
  std::vector<int64_t> dims;
  std::string text() const override { return "dims = " + to_text(dims); }
};

std::vector<Type> infer_broadcast(const OpNode& op) {
  const auto& a = op.attrs<BroadcastAttributes>();
  const Shape& in = op.inputs[0].shape();
  if (in.size() != a.dims.size())
    shape_error(op, fmt::format("expected {} dims, got {}", in.size(), to_text(a.dims)));
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t d = a.dims[i];
    if (d < 0 || d >= std::ssize(a.shape) || (i > 0 && d <= a.dims[i - 1]) ||
        (in[i] != 1 && in[i] != a.shape[d])) {
      shape_error(op, fmt::format("expected ascending dims with the sizes of {} in {}, got {}: "
                                  "cannot place dim {} of size {}",
                                  to_text(in), to_text(a.shape), to_text(a.dims), i, in[i]));
    }
  }
  return {Type{op.inputs[0].dtype(), a.shape}};
}

void eval_broadcast(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                    std::span<HostTensor> y) {
  const auto& a = op.attrs<BroadcastAttributes>();
  const Shape in_strides = row_major_strides(x[0]->shape());
  Shape from(a.shape.size(), 0);  // a stride of 0 repeats
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (x[0]->shape()[i] != 1) from[a.dims[i]] = in_strides[i];
  }
  copy_strided(a.shape, *x[0], {0, from}, y[0], dense_view(a.shape));
}

const OpRules broadcast_rules({.name = "broadcast_in_dim",
                               .infer = infer_broadcast,
                               .batch =
                                   [](BatchX x) {
                                     const auto& a = x.attrs<BroadcastAttributes>();
                                     return emit_batched(
                                         x, BroadcastAttributes(prepended(x.axis().size, a.shape),
                                                                prepended(0, shifted(a.dims))));
                                   },
                               .vjp =
                                   [](X x, Y, Ct g) {
                                     // The cotangent is summed over the new and the repeated dims.
                                     const auto& a = x.attrs<BroadcastAttributes>();
                                     std::vector<int64_t> summed;
                                     for (int64_t d = 0; d < std::ssize(a.shape); ++d) {
                                       const auto it = std::ranges::find(a.dims, d);
                                       const bool is_new = it == a.dims.end();
                                       if (is_new || x[0].dim(it - a.dims.begin()) != a.shape[d])
                                         summed.push_back(d);
                                     }
                                     return Values{reshape(reduce_sum(g[0], summed), x[0].shape())};
                                   },
                               .eval = eval_broadcast,
                               .hlo =
                                   [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                     return HloValues{b.one(
                                         "stablehlo.broadcast_in_dim", x, op.outputs[0],
                                         "broadcast_dimensions = " +
                                             mlir_array(op.attrs<BroadcastAttributes>().dims))};
                                   },
                               .cost = kNoFlops,
                               .traits = {.cheap = true, .moves_elements = true}});

}  // namespace

Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, const std::vector<int64_t>& dims) {
  if (x.shape() == shape && dims == all_axes(x)) return x;
  return emit(broadcast_rules, {x}, BroadcastAttributes(shape, dims));
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (x.rank() > std::ssize(shape)) {
    shape_error("broadcast_to",
                fmt::format("expected at most {} dims to fit {}", shape.size(), to_text(shape)),
                {x});
  }
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), std::ssize(shape) - x.rank());
  return broadcast_in_dim(x, shape, dims);
}

std::pair<Tensor, Tensor> broadcast_together(const Tensor& a, const Tensor& b,
                                             std::string_view op) {
  if (a.shape() == b.shape()) return {a, b};
  const size_t rank = std::max(a.shape().size(), b.shape().size());
  Shape shape(rank, 1);
  for (const Tensor* t : {&a, &b}) {
    const size_t offset = rank - t->shape().size();
    for (size_t i = 0; i < t->shape().size(); ++i) {
      const int64_t d = t->shape()[i];
      int64_t& common = shape[offset + i];
      if (common != 1 && d != 1 && d != common) {
        shape_error(op,
                    fmt::format("shapes {} and {} do not broadcast", to_text(a.shape()),
                                to_text(b.shape())),
                    {a, b});
      }
      if (d != 1) common = d;
    }
  }
  return {broadcast_to(a, shape), broadcast_to(b, shape)};
}

Values meshgrid(const Values& axes, GridOrder order) {
  Shape shape;
  for (const Tensor& axis : axes) {
    if (axis.rank() != 1) shape_error("meshgrid", "expected vectors", axes);
    shape.push_back(axis.dim(0));
  }
  const bool is_swapped = order == GridOrder::kCartesian && axes.size() > 1;
  if (is_swapped) std::swap(shape[0], shape[1]);
  Values out;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t dim = is_swapped && i < 2 ? 1 - i : i;
    out.push_back(broadcast_in_dim(axes[i], shape, {static_cast<int64_t>(dim)}));
  }
  return out;
}

Tensor emit_broadcast(const OpRules& rules, const Tensor& a, const Tensor& b) {
  const auto [p, q] = broadcast_together(a, b, rules.name());
  return emit(rules, {p, q});
}

}  // namespace axle
