#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/movement/window_rules.h"
#include "ops/reductions/reductions.h"
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

std::vector<Type> infer_dynamic_slice(const OpNode& op) {
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
    const int64_t start = wide_indices(*starts[d]).values<int64_t>()[0];
    out.offset += out.strides[d] * std::clamp<int64_t>(start, 0, whole[d] - sizes[d]);
  }
  return out;
}

void eval_dynamic_slice(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
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

// Returns true if some start, an operand from `first` on, is batched.
bool has_batched_start(BatchX x, size_t first) {
  const auto starts = x.values().subspan(first);
  return std::ranges::any_of(starts, &Batched::is_batched);
}

// Returns the operands of the same op with a leading dim for the batch, which the window covers.
Values with_whole_batch(BatchX x, size_t first) {
  Values out;
  for (size_t i = 0; i < first; ++i) out.push_back(with_batch_dim(x, i));
  if (first < x.size())
    out.push_back(scalar(0, x[first].dtype()));
  else
    out.push_back(scalar(0, DType::kI32));  // the op had no dims and no starts
  for (size_t i = first; i < x.size(); ++i) out.push_back(x[i]);
  return out;
}

// Returns the starts of each element of the batch as positions [batch, dims].
Tensor batched_starts(BatchX x, size_t first) {
  Values starts;
  for (size_t i = first; i < x.size(); ++i) starts.push_back(with_batch_dim(x, i));
  return stack(starts, 1);
}

// The windows of the batch, one at each position.
GatherDims windows_of_batch(int64_t rank, bool is_operand_batched) {
  GatherDims dims{.offset = axis_range(1, rank + 1), .index_vector_dim = 1};
  dims.index_map = is_operand_batched ? axis_range(1, rank + 1) : axis_range(0, rank);
  if (is_operand_batched) dims.operand_batch = dims.indices_batch = {0};
  return dims;
}

std::vector<Batched> batch_slice(BatchX x) {
  const Shape& sizes = x.attrs<SizesAttributes>().sizes;
  if (!has_batched_start(x, 1)) {
    return all_batched({emit(*x.op().rules, with_whole_batch(x, 1),
                             SizesAttributes(prepended(x.axis().size, sizes)))});
  }
  const auto rank = std::ssize(sizes);
  return all_batched({gather(x[0], batched_starts(x, 1), windows_of_batch(rank, x.is_batched(0)),
                             x.is_batched(0) ? prepended(1, sizes) : sizes)});
}

// A scatter drops windows that reach outside, so that the starts are moved inside before.
std::vector<Batched> batch_update(BatchX x) {
  if (!has_batched_start(x, 2)) return all_batched(emit_all(*x.op().rules, with_whole_batch(x, 2)));
  const Tensor operand = with_batch_dim(x, 0), update = with_batch_dim(x, 1);
  const Tensor starts = batched_starts(x, 2);
  std::vector<int64_t> last;
  for (int64_t d = 1; d < operand.rank(); ++d) last.push_back(operand.dim(d) - update.dim(d));
  const HostTensor table({starts.dim(1)}, std::span<const int64_t>(last));
  const Tensor moved = minimum(maximum(starts, 0), constant(table.astype(starts.dtype())));
  return all_batched({scatter(operand, moved, update, windows_of_batch(operand.rank() - 1, true))});
}

const OpRules dynamic_slice_rules({.name = "dynamic_slice",
                                   .infer = infer_dynamic_slice,
                                   .batch = batch_slice,
                                   .vjp =
                                       [](X x, Y, Ct g) {
                                         Values out(x.size());
                                         out[0] = dynamic_update_slice(zeros_like(x[0]), g[0],
                                                                       starts_of<1>(x));
                                         return out;
                                       },
                                   .eval = eval_dynamic_slice,
                                   .hlo =
                                       [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                         return HloValues{b.one(
                                             "stablehlo.dynamic_slice", x, op.outputs[0],
                                             "slice_sizes = " + mlir_array(op.outputs[0].dims))};
                                       },
                                   .cost = {0, read_part_bytes}});

const OpRules dynamic_update_slice_rules({.name = "dynamic_update_slice",
                                          .infer = infer_update,
                                          .batch = batch_update,
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
    if (d != axis) starts[d] = scalar(0, start.dtype());
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
  sizes[axis] = size;
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
    shape_error(
        "dynamic_update_index_in_dim",
        fmt::format("expected an update of {}, got {}", to_text(row), to_text(update.shape())),
        {x, update});
  }
  return dynamic_update_slice_in_dim(x, expand_dims(update, axis), index, axis);
}

Tensor dynamic_roll(const Tensor& x, const Tensor& shift, int64_t axis) {
  axis = normalized_axis("dynamic_roll", x, axis);
  if (shift.rank() != 0 || !is_integer(shift.dtype()))
    shape_error("dynamic_roll", "expected an integer scalar as shift", {x, shift});
  const int64_t n = x.dim(axis);
  if (n == 0) return x;
  const Tensor rest = remainder(astype(shift, DType::kI32), scalar(n, DType::kI32));
  const Tensor start = select(rest > 0, n - rest, -rest);
  return dynamic_slice_in_dim(concatenate({x, x}, axis), start, n, axis);
}

namespace {

void check_matrix(std::string_view op, const Tensor& x) {
  if (x.rank() < 2) shape_error(op, "expected two dims or more", {x});
}

Tensor below_or_on(const Tensor& x, int64_t offset) {
  return broadcast_to(tri(x.dim(-2), x.dim(-1), offset, DType::kPred), x.shape());
}

}  // namespace

Tensor eye(int64_t rows, int64_t columns, int64_t offset, DType dtype) {
  const Shape shape = {rows, columns};
  check_sizes("eye", "numbers of rows and columns", shape);
  return astype(equal(iota(shape, 0) + offset, iota(shape, 1)), dtype);
}

Tensor tri(int64_t rows, int64_t columns, int64_t offset, DType dtype) {
  const Shape shape = {rows, columns};
  check_sizes("tri", "numbers of rows and columns", shape);
  return astype(iota(shape, 0) + offset >= iota(shape, 1), dtype);
}

Tensor tril(const Tensor& x, int64_t offset) {
  check_matrix("tril", x);
  return select(below_or_on(x, offset), x, 0);
}

Tensor triu(const Tensor& x, int64_t offset) {
  check_matrix("triu", x);
  return select(below_or_on(x, offset - 1), 0, x);
}

// In row-major order the elements of a diagonal are one row and one element apart.
Tensor diagonal(const Tensor& x, int64_t offset) {
  check_matrix("diagonal", x);
  const int64_t rows = x.dim(-2), columns = x.dim(-1), step = columns + 1;
  const int64_t n = std::clamp<int64_t>(offset < 0 ? rows + offset : columns - offset, 0,
                                        std::min(rows, columns));
  const int64_t start = n == 0 ? 0 : std::max<int64_t>(offset, -offset * columns);
  const int64_t limit = n == 0 ? 0 : start + (n - 1) * step + 1;
  return slice_in_dim(flatten(x, -2, -1), -1, start, limit, step);
}

Tensor diagonal_matrix(const Tensor& x, int64_t offset) {
  const int64_t n = x.dim(normalized_axis("diagonal_matrix", x, -1));
  const bool is_near = offset >= -kMaxElements && offset <= kMaxElements;
  const int64_t size = n + (is_near ? std::abs(offset) : kMaxElements);
  Shape shape = x.shape();
  shape.back() = size;
  shape.push_back(size);
  if (!is_near || !is_countable(shape)) {
    shape_error("diagonal_matrix",
                fmt::format("expected a matrix of at most {} elements, got the offset {}",
                            kMaxElements, offset),
                {x});
  }
  if (n == 0) return zeros(shape, x.dtype());
  const int64_t start = std::max<int64_t>(offset, -offset * size);
  Shape low(x.shape().size(), 0), high = low, interior = low;
  low.back() = start;
  interior.back() = size;
  high.back() = size * size - start - ((n - 1) * (size + 1) + 1);
  return reshape(pad(x, 0, low, high, interior), shape);
}

Tensor matrix_trace(const Tensor& x, int64_t offset) {
  return reduce_sum(diagonal(x, offset), {-1});
}

}  // namespace axle
