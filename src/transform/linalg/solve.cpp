#include "transform/linalg/solve.h"

#include "ops/movement/dynamic_slice.h"
#include "ops/movement/shape.h"
#include "transform/linalg/matrices.h"
#include "transform/linalg/qr.h"
#include "transform/linalg/triangular_solve.h"

namespace axle {
Tensor solve(const Tensor& a, const Tensor& b) {
  check_square_operand("solve", a);
  const auto [q, r] = qr(a);
  return triangular_solve(r, matmul(transposed(q), b), {.lower = false});
}

Tensor cho_solve(const Tensor& l, const Tensor& b) {
  return triangular_solve(l, triangular_solve(l, b), {.transpose = true});
}

Tensor inverse(const Tensor& x) {
  check_square_operand("inverse", x);
  return solve(x, broadcast_to(eye(x.dim(-1), x.dim(-1), 0, x.dtype()), x.shape()));
}

}  // namespace axle
