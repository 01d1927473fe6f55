#include "ops/movement/counting.h"

#include <fmt/format.h>

#include "ops/checks.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/movement/sort.h"
#include "ops/reductions/cumulative.h"
#include "ops/rules.h"

namespace axle {
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

}  // namespace axle
