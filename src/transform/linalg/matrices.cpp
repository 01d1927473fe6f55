#include "transform/linalg/matrices.h"

#include <fmt/format.h>

#include "ops/elementwise/arithmetic.h"
#include "ops/movement/shape.h"
#include "ops/products/einsum.h"
#include "ops/rules.h"
#include "transform/vmap.h"

namespace axle {
void check_matrices(const OpNode& op, size_t i) {
  const Type& x = op.inputs[i].type();
  if (x.dtype != DType::kF32 && x.dtype != DType::kF64) {
    shape_error(op, fmt::format("expected matrices of f32 or f64, got {}; convert with astype",
                                name_of(x.dtype)));
  }
  if (x.rank() < 2 || op.inputs[i].dim(-1) == 0 || op.inputs[i].dim(-2) == 0)
    shape_error(op, fmt::format("expected [.., m, n] with m, n > 0, got {}", to_text(x.dims)));
}

void check_square_operand(std::string_view op, const Tensor& x) {
  if (x.rank() < 2 || x.dim(-1) != x.dim(-2))
    shape_error(op, fmt::format("expected square matrices, got {}", to_text(x.shape())), {x});
}

void check_square_matrices(const OpNode& op, size_t i) {
  check_matrices(op, i);
  check_square_operand(op.rules->name(), op.inputs[i]);
}

Values each_matrix(const TensorFunction& fn, const Values& stacks) {
  if (stacks[0].rank() == 2) return fn(stacks);
  return vmap([&](const Values& x) { return each_matrix(fn, x); }, stacks);
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  return einsum("...ij,...jk->...ik", a, b, {.precision = Precision::kHighest});
}
Tensor transposed(const Tensor& x) { return swap_axes(x, -1, -2); }
Tensor symmetrized(const Tensor& x) { return (x + transposed(x)) * 0.5; }

}  // namespace axle
