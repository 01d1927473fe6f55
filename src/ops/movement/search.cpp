#include "ops/movement/search.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle {
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
