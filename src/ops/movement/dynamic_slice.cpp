#include "ops/movement/dynamic_slice.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/create.h"
#include "ops/movement/shape.h"
#include "ops/movement/strided.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct SizesAttributes : Attributes {
  explicit SizesAttributes(Shape s) : sizes(std::move(s)) {}
  Shape sizes;
  std::string text() const override { return "sizes = " + to_text(sizes); }
};

// Throws ShapeError unless the inputs from `first` on are starts, one for each dim of the first
// input, and a window of `sizes` fits in the first input.
void check_window(const OpNode& op, size_t first, const Shape& sizes) {
  const Shape& shape = op.inputs[0].shape();
  if (sizes.size() != shape.size() || op.inputs.size() - first != shape.size()) {
    shape_error(op, fmt::format("expected a size and a start for each of {} dims, got {} and {}",
                                shape.size(), sizes.size(), op.inputs.size() - first));
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    const Type& start = op.inputs[first + d].type();
    if (sizes[d] < 0 || sizes[d] > shape[d]) {
      shape_error(op, fmt::format("a window of size {} does not fit dim {} of size {}", sizes[d], d,
                                  shape[d]));
    }
    if (start.rank() != 0 || !is_integer(start.dtype) || start.dtype != op.inputs[first].dtype()) {
      shape_error(
          op, fmt::format("starts must be integer scalars of one dtype, got {}", to_text(start)));
    }
  }
}

std::vector<Type> infer_slice(const OpNode& op) {
  const Shape& sizes = op.attrs<SizesAttributes>().sizes;
  check_window(op, 1, sizes);
  return {Type{op.inputs[0].dtype(), sizes}};
}

std::vector<Type> infer_update(const OpNode& op) {
  if (op.inputs[1].dtype() != op.inputs[0].dtype()) {
    shape_error(op, fmt::format("the update must have the dtype of the operand, got {} and {}",
                                name_of(op.inputs[1].dtype()), name_of(op.inputs[0].dtype())));
  }
  check_window(op, 2, op.inputs[1].shape());
  return {op.inputs[0].type()};
}

// Returns the view of the window of `sizes` in the whole tensor, moved inside if necessary.
StridedView window_at(const Shape& whole, const Shape& sizes,
                      std::span<const HostTensor* const> starts) {
  StridedView out{0, row_major_strides(whole)};
  for (size_t d = 0; d < whole.size(); ++d) {
    const int64_t start = starts[d]->astype(DType::kI64).values<int64_t>()[0];
    out.offset += out.strides[d] * std::clamp<int64_t>(start, 0, whole[d] - sizes[d]);
  }
  return out;
}

void eval_slice(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                std::span<HostTensor> y) {
  const Shape& sizes = y[0].shape();
  copy_strided(sizes, *x[0], window_at(x[0]->shape(), sizes, x.subspan(1)), y[0],
               {0, row_major_strides(sizes)});
}

void eval_update(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                 std::span<HostTensor> y) {
  const Shape& sizes = x[1]->shape();
  y[0] = *x[0];
  copy_strided(sizes, *x[1], {0, row_major_strides(sizes)}, y[0],
               window_at(x[0]->shape(), sizes, x.subspan(2)));
}

template <size_t kFirst, class Op>
Values starts_of(const Op& x) {
  Values out;
  for (size_t i = kFirst; i < x.size(); ++i) out.push_back(x[i]);
  return out;
}

const OpRules dynamic_slice_rules({.name = "dynamic_slice",
                                   .infer = infer_slice,
                                   .vjp =
                                       [](X x, Y, Ct g) {
                                         Values out(x.size());
                                         out[0] = dynamic_update_slice(zeros_like(x[0]), g[0],
                                                                       starts_of<1>(x));
                                         return out;
                                       },
                                   .eval = eval_slice,
                                   .hlo =
                                       [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                         return HloValues{b.one(
                                             "stablehlo.dynamic_slice", x, op.outputs[0],
                                             "slice_sizes = " + mlir_array(op.outputs[0].dims))};
                                       },
                                   .cost = {0, read_part_bytes}});

const OpRules dynamic_update_slice_rules({.name = "dynamic_update_slice",
                                          .infer = infer_update,
                                          .vjp =
                                              [](X x, Y, Ct g) {
                                                Values out(x.size());
                                                out[0] = dynamic_update_slice(
                                                    g[0], zeros_like(x[1]), starts_of<2>(x));
                                                out[1] = dynamic_slice(g[0], starts_of<2>(x),
                                                                       x[1].shape());
                                                return out;
                                              },
                                          .eval = eval_update,
                                          .hlo = "stablehlo.dynamic_update_slice",
                                          .cost = {0, written_part_bytes}});

// Returns starts that are `start` along `axis` and 0 along the other dims.
Values starts_in_dim(const Tensor& x, const Tensor& start, int64_t axis) {
  Values starts(x.shape().size(), start);
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d != axis) starts[static_cast<size_t>(d)] = scalar(0, start.dtype());
  }
  return starts;
}

}  // namespace

Tensor dynamic_slice(const Tensor& x, const Values& starts, const Shape& sizes) {
  Values inputs{x};
  inputs.insert(inputs.end(), starts.begin(), starts.end());
  return emit(dynamic_slice_rules, std::move(inputs), SizesAttributes(sizes));
}

Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, const Values& starts) {
  Values inputs{x, update};
  inputs.insert(inputs.end(), starts.begin(), starts.end());
  return emit(dynamic_update_slice_rules, std::move(inputs));
}

Tensor dynamic_slice_in_dim(const Tensor& x, const Tensor& start, int64_t size, int64_t axis) {
  axis = normalized_axis("dynamic_slice_in_dim", x, axis);
  Shape sizes = x.shape();
  sizes[static_cast<size_t>(axis)] = size;
  return dynamic_slice(x, starts_in_dim(x, start, axis), sizes);
}

Tensor dynamic_index_in_dim(const Tensor& x, const Tensor& index, int64_t axis) {
  axis = normalized_axis("dynamic_index_in_dim", x, axis);
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  return reshape(dynamic_slice_in_dim(x, index, 1, axis), shape);
}

Tensor dynamic_update_slice_in_dim(const Tensor& x, const Tensor& update, const Tensor& start,
                                   int64_t axis) {
  axis = normalized_axis("dynamic_update_slice_in_dim", x, axis);
  return dynamic_update_slice(x, update, starts_in_dim(x, start, axis));
}

Tensor dynamic_update_index_in_dim(const Tensor& x, const Tensor& update, const Tensor& index,
                                   int64_t axis) {
  axis = normalized_axis("dynamic_update_index_in_dim", x, axis);
  Shape row = x.shape();
  row.erase(row.begin() + axis);
  if (update.shape() != row) {
    operand_error("dynamic_update_index_in_dim",
                  fmt::format("expected an update of {}", to_text(row)), {x, update});
  }
  return dynamic_update_slice_in_dim(x, expand_dims(update, axis), index, axis);
}

}  // namespace axle
