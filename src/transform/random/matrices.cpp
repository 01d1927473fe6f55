#include "transform/random/matrices.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_rules.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/shape.h"
#include "ops/random/random.h"
#include "ops/random/random_floats.h"
#include "transform/linalg/matrices.h"
#include "transform/linalg/qr.h"

namespace axle::random {

Tensor orthogonal(const Key& key, const Shape& batch, int64_t rows, int64_t columns, DType dtype) {
  check_at_least("random::orthogonal", "a number of rows", rows, 1, {key.data()});
  check_at_least("random::orthogonal", "a number of columns", columns, 1, {key.data()});
  check_draw("random::orthogonal", key, batch);
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    shape_error("random::orthogonal", fmt::format("expected f32 or f64, got {}", name_of(dtype)),
                {key.data()});
  }
  const int64_t longer = std::max(rows, columns), shorter = std::min(rows, columns);
  Shape shape = batch;
  shape.insert(shape.end(), {longer, shorter});
  const auto [q, r] = qr(normal(key, shape, dtype));
  // The signs of qr depend on its method. Those of the diagonal of r make the draws uniform.
  const Tensor x = q * expand_dims(sign(diagonal(r)), -2);
  return rows < columns ? transposed(x) : x;
}

}  // namespace axle::random
