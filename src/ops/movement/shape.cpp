#include "ops/movement/shape.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/movement/strided.h"
#include "ops/reductions/reduce.h"
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
     .cheap = true,
     .moves_elements = true});

std::vector<Type> infer_transpose(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  const auto& perm = op.attrs<AxesAttributes>().axes;
  if (!std::ranges::is_permutation(perm, all_axes(op.inputs[0]))) {
    shape_error(op,
                fmt::format("expected a permutation of {} dims, got {}", x.rank(), to_text(perm)));
  }
  Type y{x.dtype, {}};
  for (const int64_t axis : perm) y.dims.push_back(x.dims[static_cast<size_t>(axis)]);
  return {y};
}

std::vector<int64_t> inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> out(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    out[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
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
           for (const int64_t axis : op.attrs<AxesAttributes>().axes)
             from.push_back(strides[static_cast<size_t>(axis)]);
           copy_strided(y[0].shape(), *x[0], {0, from}, y[0], dense_view(y[0].shape()));
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           return HloValues{b.one("stablehlo.transpose", x, op.outputs[0],
                                  "permutation = " + mlir_array(op.attrs<AxesAttributes>().axes))};
         },
     .cost = kNoFlops,
     .cheap = true,
     .moves_elements = true});

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
     .cheap = true,
     .moves_elements = true});

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
  std::swap(perm[static_cast<size_t>(normalized_axis("swap_axes", x, a))],
            perm[static_cast<size_t>(normalized_axis("swap_axes", x, b))]);
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

}  // namespace axle
