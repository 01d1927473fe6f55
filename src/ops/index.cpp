#include "ops/index.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/broadcast.h"
#include "ops/compare.h"
#include "ops/convert.h"
#include "ops/create.h"

namespace axle {
namespace {

int64_t checked_axis(const Tensor& x, int64_t axis, std::string_view op) {
  const int64_t out = axis < 0 ? axis + x.rank() : axis;
  if (out < 0 || out >= x.rank()) throw ShapeError(fmt::format("{}: no axis {} of {}", op, axis, describe(x)));
  return out;
}

// One element at each position; all dims but `axis` are walked together.
WindowDims along_axis(const Tensor& x, const Tensor& indices, int64_t axis, std::string_view op) {
  bool fits = indices.rank() == x.rank();
  WindowDims dims{.collapsed = {axis}, .index_map = {axis}, .index_vector_dim = indices.rank()};
  for (int64_t d = 0; fits && d < x.rank(); ++d) {
    if (d == axis) continue;
    fits = x.dim(d) == indices.dim(d);
    dims.operand_batch.push_back(d);
    dims.indices_batch.push_back(d);
  }
  if (!fits) {
    throw ShapeError(fmt::format("{}: indices must have the shape of x but for axis {}, got {} and {}", op, axis,
                                 describe(x), describe(indices)));
  }
  return dims;
}

}  // namespace

Tensor take(const Tensor& x, const Tensor& indices, int64_t axis) {
  axis = checked_axis(x, axis, "take");
  WindowDims dims{.collapsed = {axis}, .index_map = {axis}, .index_vector_dim = indices.rank()};
  for (int64_t d = 0; d < axis; ++d) dims.offset.push_back(d);
  for (int64_t d = axis; d + 1 < x.rank(); ++d) dims.offset.push_back(indices.rank() + d);
  Shape sizes = x.shape();
  sizes[static_cast<size_t>(axis)] = 1;
  return gather(x, indices, dims, sizes);
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis) {
  axis = checked_axis(x, axis, "take_along_axis");
  return gather(x, indices, along_axis(x, indices, axis, "take_along_axis"), Shape(x.shape().size(), 1));
}

Tensor add_along_axis(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis) {
  axis = checked_axis(x, axis, "add_along_axis");
  return scatter_add(x, indices, updates, along_axis(x, indices, axis, "add_along_axis"));
}

Tensor one_hot(const Tensor& indices, int64_t n, DType dtype) {
  Shape shape = indices.shape();
  shape.push_back(n);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < indices.rank(); ++d) dims.push_back(d);
  return astype(equal(broadcast_in_dim(indices, shape, dims), iota(shape, -1, indices.dtype())), dtype);
}

}  // namespace axle
