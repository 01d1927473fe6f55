#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

// Returns the dimension numbers for windows of one element: `axis` is indexed, all other dims are
// batch dims. Throws ShapeError if the shapes differ along another dim.
GatherDims dims_along_axis(const Tensor& x, const Tensor& indices, int64_t axis,
                           std::string_view op) {
  bool fits = indices.rank() == x.rank();
  GatherDims dims{.collapsed = {axis}, .index_map = {axis}, .index_vector_dim = indices.rank()};
  for (int64_t d = 0; fits && d < x.rank(); ++d) {
    if (d == axis) continue;
    fits = x.dim(d) == indices.dim(d);
    dims.operand_batch.push_back(d);
    dims.indices_batch.push_back(d);
  }
  if (!fits) {
    shape_error(op, fmt::format("expected indices of the shape of x but for axis {}", axis),
                {x, indices});
  }
  return dims;
}

// Returns the dimension numbers for slices along `axis`, which positions of one component choose.
GatherDims slices_at(const Tensor& x, const Tensor& indices, int64_t axis) {
  GatherDims dims{.collapsed = {axis}, .index_map = {axis}, .index_vector_dim = indices.rank()};
  for (int64_t d = 0; d < axis; ++d) dims.offset.push_back(d);
  for (int64_t d = axis; d + 1 < x.rank(); ++d) dims.offset.push_back(indices.rank() + d);
  return dims;
}

}  // namespace

Tensor take(const Tensor& x, const Tensor& indices, int64_t axis, const GatherOptions& options) {
  axis = normalized_axis("take", x, axis);
  Shape sizes = x.shape();
  sizes[axis] = 1;
  return gather(x, indices, slices_at(x, indices, axis), sizes, options);
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis,
                       const GatherOptions& options) {
  axis = normalized_axis("take_along_axis", x, axis);
  return gather(x, indices, dims_along_axis(x, indices, axis, "take_along_axis"),
                Shape(x.shape().size(), 1), options);
}

Tensor from_end(const Tensor& indices, int64_t size) {
  check_at_least("from_end", "a size", size, 0, {indices});
  return is_unsigned(indices.dtype()) ? indices : select(indices < 0, indices + size, indices);
}

Tensor add_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis,
              const ScatterOptions& options) {
  axis = normalized_axis("add_at", x, axis);
  return scatter_add(x, indices, updates, slices_at(x, indices, axis), options);
}

Tensor multiply_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis,
                   const ScatterOptions& options) {
  axis = normalized_axis("multiply_at", x, axis);
  return scatter_mul(x, indices, updates, slices_at(x, indices, axis), options);
}

Tensor min_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis,
              const ScatterOptions& options) {
  axis = normalized_axis("min_at", x, axis);
  return scatter_min(x, indices, updates, slices_at(x, indices, axis), options);
}

Tensor max_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis,
              const ScatterOptions& options) {
  axis = normalized_axis("max_at", x, axis);
  return scatter_max(x, indices, updates, slices_at(x, indices, axis), options);
}

Tensor set_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis,
              const ScatterOptions& options) {
  axis = normalized_axis("set_at", x, axis);
  return scatter(x, indices, updates, slices_at(x, indices, axis), options);
}

Tensor add_along_axis(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis,
                      const ScatterOptions& options) {
  axis = normalized_axis("add_along_axis", x, axis);
  return scatter_add(x, indices, updates, dims_along_axis(x, indices, axis, "add_along_axis"),
                     options);
}

Tensor set_along_axis(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis,
                      const ScatterOptions& options) {
  axis = normalized_axis("set_along_axis", x, axis);
  return scatter(x, indices, updates, dims_along_axis(x, indices, axis, "set_along_axis"), options);
}

Tensor batched_take(const Tensor& x, const Tensor& indices, int64_t num_batch_dims) {
  if (num_batch_dims < 0 || num_batch_dims >= x.rank() || num_batch_dims > indices.rank()) {
    shape_error(
        "batched_take",
        fmt::format("expected from 0 to {} batch dims, got {}",
                    std::max<int64_t>(std::min(x.rank() - 1, indices.rank()), 0), num_batch_dims),
        {x, indices});
  }
  const std::vector<int64_t> batch = axis_range(0, num_batch_dims);
  Shape sizes = x.shape();
  std::fill_n(sizes.begin(), num_batch_dims + 1, 1);
  return gather(
      x, indices,
      {.offset = axis_range(indices.rank(), indices.rank() + x.rank() - num_batch_dims - 1),
       .collapsed = {num_batch_dims},
       .operand_batch = batch,
       .indices_batch = batch,
       .index_map = {num_batch_dims},
       .index_vector_dim = indices.rank()},
      sizes);
}

Tensor batched_put_rows(const Tensor& x, const Tensor& starts, const Tensor& updates) {
  if (x.rank() < 2 || starts.rank() != 1 || updates.rank() != x.rank()) {
    shape_error("batched_put_rows", "expected x [B, S, ..], starts [B] and updates [B, T, ..]",
                {x, starts, updates});
  }
  return scatter(x, starts, updates,
                 {.offset = axis_range(1, x.rank()),
                  .operand_batch = {0},
                  .indices_batch = {0},
                  .index_map = {1},
                  .index_vector_dim = 1});
}

Tensor one_hot(const Tensor& indices, int64_t n, DType dtype) {
  check_at_least("one_hot", "a number of classes", n, 0, {indices});
  Shape shape = indices.shape();
  shape.push_back(n);
  const std::vector<int64_t> dims = axis_range(0, indices.rank());
  return astype(equal(broadcast_in_dim(indices, shape, dims), iota(shape, -1, indices.dtype())),
                dtype);
}

namespace {

// Returns the position of each true element among the true ones.
Tensor rank_of(const Tensor& mask) { return cumsum(astype(mask, DType::kI32), 0) - 1; }

// Returns the indices of the first `size` true elements of a vector; missing ones are `fill`.
Tensor true_indices(const Tensor& mask, int64_t size, int64_t fill) {
  const Tensor to = select(mask, rank_of(mask), size);
  return set_at(full({size}, fill, DType::kI32), to, iota(mask.shape(), 0));
}

}  // namespace

Tensor bincount(const Tensor& x, int64_t length) {
  return bincount(x, ones(x.shape(), DType::kI32), length);
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t length) {
  if (!is_integer(x.dtype()) || weights.shape() != x.shape())
    shape_error("bincount", "expected integers and weights of their shape", {x, weights});
  check_at_least("bincount", "a length", length, 0, {x, weights});
  return add_at(zeros({length}, weights.dtype()), maximum(flatten(x), 0), flatten(weights));
}

Values nonzero(const Tensor& x, int64_t size, int64_t fill) {
  if (x.rank() == 0) shape_error("nonzero", "expected at least one dim, got a scalar", {x});
  check_at_least("nonzero", "a size", size, 0, {x});
  const Tensor flat = true_indices(flatten(astype(x, DType::kPred)), size, -1);
  const Shape strides = row_major_strides(x.shape());
  Values out;
  for (size_t d = 0; d < strides.size(); ++d) {
    const Tensor index = remainder(flat / strides[d], full_like(flat, x.shape()[d]));
    out.push_back(select(flat < 0, fill, index));
  }
  return out;
}

Unique unique(const Tensor& x, int64_t size, std::optional<Scalar> fill) {
  const Tensor flat = flatten(x);
  const int64_t n = flat.dim(0);
  if (n == 0) shape_error("unique", "expected at least one element, got none", {x});
  check_at_least("unique", "a size", size, 0, {x});
  const Values sorted = sort_key_val({flat, iota({n}, 0)});
  const Tensor before = slice_in_dim(sorted[0], 0, 0, n - 1),
               after = slice_in_dim(sorted[0], 0, 1, n);
  Tensor differs = not_equal(before, after);
  if (is_float(x.dtype())) differs = differs & logical_not(is_nan(before) & is_nan(after));
  const Tensor is_first = concatenate({ones({1}, DType::kPred), differs}, 0);
  const Tensor starts = true_indices(is_first, size + 1, n),
               start = slice_in_dim(starts, 0, 0, size), end = slice_in_dim(starts, 0, 1, size + 1);
  const Tensor is_missing = equal(start, n), position = select(is_missing, 0, start);
  const Tensor values = take(sorted[0], position);
  return {
      .values =
          fill ? select(is_missing, full_for("unique", x, values.shape(), *fill), values) : values,
      .first_indices = take(sorted[1], position),
      .inverse = reshape(set_at(zeros({n}, DType::kI32), sorted[1], rank_of(is_first), 0,
                                {.mode = ScatterMode::kPromiseInBounds, .unique_indices = true}),
                         x.shape()),
      .counts = end - start};
}

namespace {

// True where a sort puts a before b.
Tensor precedes(const Tensor& a, const Tensor& b) {
  return is_float(a.dtype()) ? (a < b) | (is_nan(b) & logical_not(is_nan(a))) : a < b;
}

}  // namespace

Tensor searchsorted(const Tensor& sorted, const Tensor& values, SearchSide side) {
  if (sorted.rank() != 1 || sorted.dtype() != values.dtype())
    shape_error("searchsorted", "expected a vector and values of its dtype", {sorted, values});
  const int64_t n = sorted.dim(0);
  // The position is in [low, high]. Each step halves the range. Once it is empty, further steps
  // leave `high` alone.
  Tensor low = zeros(values.shape(), DType::kI32), high = full(values.shape(), n, DType::kI32);
  for (int64_t left = n; left > 0; left /= 2) {
    const Tensor middle = (low + high) >> 1;
    const Tensor element = take(sorted, middle);
    const Tensor is_after = side == SearchSide::kLeft ? precedes(element, values)
                                                      : logical_not(precedes(values, element));
    low = select(is_after, middle + 1, low);
    high = select(is_after, high, middle);
  }
  return high;
}

Tensor digitize(const Tensor& x, const Tensor& edges, SearchSide closed) {
  if (edges.rank() != 1) shape_error("digitize", "expected a vector of edges", {x, edges});
  const int64_t n = edges.dim(0);
  if (n == 0) return zeros(x.shape(), DType::kI32);
  const SearchSide side = closed == SearchSide::kLeft ? SearchSide::kRight : SearchSide::kLeft;
  const Tensor ascends = index_in_dim(edges, 0, -1) >= index_in_dim(edges, 0, 0);
  return select(ascends, searchsorted(edges, x, side),
                n - searchsorted(reverse(edges, {0}), x, side));
}

Tensor isin(const Tensor& x, const Tensor& set) {
  return reduce_or(equal(expand_dims(x, -1), flatten(set)), {-1});
}

}  // namespace axle
