#include "layers/attention/relative_places.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

Tensor first_distance(const TokenPlaces& places) {
  const auto first = [](const Tensor& x) { return reshape(slice_in_dim(flatten(x), 0, 0, 1), {}); };
  return first(places.key_positions) - first(places.query_positions);
}

// One slice does it: rows of M - 1 elements begin one element earlier each than rows of M.
Tensor aligned_by_distance(const Tensor& x_TM, int64_t num_keys) {
  const int64_t T = x_TM.dim(-2), M = x_TM.dim(-1);
  const Tensor cut = slice_in_dim(flatten(x_TM, -2), -1, T - 1, T * M - 1);
  return slice_in_dim(unflatten(cut, -1, {T, M - 1}), -1, 0, num_keys);
}

}  // namespace axle
