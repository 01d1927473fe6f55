#include "transform/linalg/cholesky.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/shape.h"
#include "ops/rules.h"
#include "transform/control_flow/scan.h"
#include "transform/linalg/matrices.h"
#include "transform/linalg/triangular_solve.h"

namespace axle {
namespace {

// Takes the outer product of column after column of the factor off the symmetric matrix.
Values factor(const Values& x) {
  const int64_t n = x[0].dim(0);
  const Tensor rows = iota({n}, 0);
  const ScanBody next_column = [&](const Values& rest, const Values& i) -> ScanResult {
    const Tensor column = dynamic_index_in_dim(rest[0], i[0]);
    const Tensor pivot = dynamic_index_in_dim(column, i[0]);
    const Tensor l = select(rows >= i[0], column / sqrt(pivot), 0);
    return {{rest[0] - expand_dims(l, 1) * expand_dims(l, 0)}, {l}};
  };
  return {transposed(scan(next_column, x, {rows}, n).ys[0])};
}

Values cholesky_formula(const OpNode&, const Values& x) { return each_matrix(factor, x); }

// With P = the lower triangle of L^T g, its diagonal halved: L^-T P L^-1.
Values cholesky_vjp(X, Y y, Ct g) {
  const Tensor& l = y[0];
  const Tensor product = matmul(transposed(l), g[0]);
  const Tensor p = (tril(product) + tril(product, -1)) * 0.5;
  const Tensor left = triangular_solve(l, p, {.lower = true, .transpose = true});
  return {triangular_solve(l, left, {.lower = true, .left_side = false})};
}

// 2 n^3 for each matrix: every column takes a product of two vectors off n^2 elements.
double cholesky_flops(const OpNode& op) {
  return 2 * num_input_elements(op) * static_cast<double>(op.inputs[0].dim(-1));
}

const OpRules cholesky_rules({.name = "cholesky",
                              .infer =
                                  [](const OpNode& op) {
                                    check_square_matrices(op);
                                    return same_type(op);
                                  },
                              .batch = trailing_dims,
                              .vjp = cholesky_vjp,
                              .eval = eval_composite<cholesky_formula>,
                              .hlo = hlo_composite<cholesky_formula>,
                              .cost = cholesky_flops});

}  // namespace

Tensor cholesky(const Tensor& x) {
  check_square_operand("cholesky", x);
  return emit(cholesky_rules, {symmetrized(x)});
}

}  // namespace axle
