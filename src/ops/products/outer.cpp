#include "ops/products/outer.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/movement/shape.h"
#include "ops/rules.h"

namespace axle {

Tensor outer(const Tensor& a, const Tensor& b) {
  if (a.rank() != 1 || b.rank() != 1) shape_error("outer", "expected vectors", {a, b});
  return expand_dims(a, 1) * expand_dims(b, 0);
}

Tensor kron(const Tensor& a, const Tensor& b) {
  if (a.rank() != 2 || b.rank() != 2) shape_error("kron", "expected matrices", {a, b});
  return reshape(reshape(a, {a.dim(0), 1, a.dim(1), 1}) * reshape(b, {1, b.dim(0), 1, b.dim(1)}),
                 {a.dim(0) * b.dim(0), a.dim(1) * b.dim(1)});
}

}  // namespace axle
