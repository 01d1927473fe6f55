#include "ops/movement/broadcast.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/movement/shape.h"
#include "ops/movement/strided.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle {
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
    if (d < 0 || d >= static_cast<int64_t>(a.shape.size()) || (i > 0 && d <= a.dims[i - 1]) ||
        (in[i] != 1 && in[i] != a.shape[static_cast<size_t>(d)])) {
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
    if (x[0]->shape()[i] != 1) from[static_cast<size_t>(a.dims[i])] = in_strides[i];
  }
  copy_strided(a.shape, *x[0], {0, from}, y[0], dense_view(a.shape));
}

const OpRules broadcast_rules(
    {.name = "broadcast_in_dim",
     .infer = infer_broadcast,
     .batch =
         [](BatchX x) {
           const auto& a = x.attrs<BroadcastAttributes>();
           return emit_batched(x, BroadcastAttributes(prepended(x.axis().size, a.shape),
                                                      prepended(0, shifted(a.dims))));
         },
     .vjp =
         [](X x, Y, Ct g) {
           // The cotangent is summed over the new and the repeated dims.
           const auto& a = x.attrs<BroadcastAttributes>();
           std::vector<int64_t> summed;
           for (int64_t d = 0; d < static_cast<int64_t>(a.shape.size()); ++d) {
             const auto it = std::ranges::find(a.dims, d);
             const bool is_new = it == a.dims.end();
             if (is_new || x[0].dim(it - a.dims.begin()) != a.shape[static_cast<size_t>(d)])
               summed.push_back(d);
           }
           return Values{reshape(reduce_sum(g[0], summed), x[0].shape())};
         },
     .eval = eval_broadcast,
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           return HloValues{
               b.one("stablehlo.broadcast_in_dim", x, op.outputs[0],
                     "broadcast_dimensions = " + mlir_array(op.attrs<BroadcastAttributes>().dims))};
         },
     .cost = kNoFlops,
     .cheap = true,
     .moves_elements = true});

}  // namespace

Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, const std::vector<int64_t>& dims) {
  if (x.shape() == shape && dims == all_axes(x)) return x;
  return emit(broadcast_rules, {x}, BroadcastAttributes(shape, dims));
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (x.rank() > static_cast<int64_t>(shape.size())) {
    shape_error("broadcast_to",
                fmt::format("expected at most {} dims to fit {}", shape.size(), to_text(shape)),
                {x});
  }
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(shape.size()) - x.rank());
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
