#include "transform/linalg/solve.h"

#include "ops/movement/broadcast.h"
#include "ops/rules.h"
#include "transform/linalg/matrices.h"
#include "transform/linalg/qr.h"
#include "transform/linalg/triangular_solve.h"

namespace axle {
namespace {

void check_square(std::string_view op, const Tensor& x) {
  if (x.rank() < 2 || x.dim(-1) != x.dim(-2)) operand_error(op, "expected square matrices", {x});
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b) {
  check_square("solve", a);
  const auto [q, r] = qr(a);
  return triangular_solve(r, matmul(transposed(q), b), {.lower = false});
}

Tensor cho_solve(const Tensor& l, const Tensor& b) {
  return triangular_solve(l, triangular_solve(l, b), {.transpose = true});
}

Tensor inverse(const Tensor& x) {
  check_square("inverse", x);
  return solve(x, broadcast_to(identity(x.dim(-1), x.dim(-1), x.dtype()), x.shape()));
}

}  // namespace axle
