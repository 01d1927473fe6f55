#include "ops/movement/index.h"

#include <fmt/format.h>

#include "ops/checks.h"
#include "ops/create.h"
#include "ops/dims.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
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
  sizes[static_cast<size_t>(axis)] = 1;
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

}  // namespace axle
