#include "transform/linalg/triangular_solve.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/products/dot.h"
#include "ops/rules.h"
#include "transform/control_flow/scan.h"
#include "transform/linalg/matrices.h"

namespace axle {
namespace {

// The op solves from the left: `left_side` is always true.
struct SolveAttributes : Attributes {
  explicit SolveAttributes(const TriangularSolveOptions& o) : options(o) {}
  TriangularSolveOptions options;
  std::string text() const override {
    return fmt::format("lower = {}, transpose = {}, unit_diagonal = {}", options.lower,
                       options.transpose, options.unit_diagonal);
  }
};

std::vector<Type> infer_solve(const OpNode& op) {
  check_square_matrices(op, 0);
  check_matrices(op, 1);
  const Tensor &a = op.inputs[0], &b = op.inputs[1];
  Shape expected = a.shape();
  expected.back() = b.dim(-1);
  if (a.dtype() != b.dtype() || b.shape() != expected) {
    shape_error(
        op, fmt::format("expected b of {} to solve with a of {}, got {}",
                        to_text(Type{a.dtype(), expected}), to_text(a.type()), to_text(b.type())));
  }
  return {b.type()};
}

// Each row of the solution follows from the rows before it, of an upper matrix from those after it.
// The other rows are still zero.
Values substitute(const Values& x, const TriangularSolveOptions& options) {
  const Tensor a = options.transpose ? transposed(x[0]) : x[0];
  const bool lower = options.lower != options.transpose;
  const int64_t n = a.dim(0);
  const Tensor pivots = options.unit_diagonal ? ones({n}, a.dtype()) : diagonal(a);
  const ScanBody next_row = [](const Values& solved, const Values& row) -> ScanResult {
    const Tensor known = dot(row[1], solved[0], {.precision = Precision::kHighest});
    const Tensor y = (row[2] - known) / row[3];
    return {{dynamic_update_index_in_dim(solved[0], y, row[0])}, {}};
  };
  const Tensor others = lower ? tril(a, -1) : triu(a, 1);
  return scan(next_row, {zeros_like(x[1])}, {iota({n}, 0), others, x[1], pivots}, n,
              {.reverse = !lower})
      .carry;
}

Values solve_formula(const OpNode& op, const Values& x) {
  const auto& options = op.attrs<SolveAttributes>().options;
  return each_matrix([&](const Values& v) { return substitute(v, options); }, x);
}

Values solve_vjp(X x, Y y, Ct g) {
  const auto& options = x.attrs<SolveAttributes>().options;
  TriangularSolveOptions adjoint = options;
  adjoint.transpose = !options.transpose;
  const Tensor of_b = triangular_solve(x[0], g[0], adjoint);
  const Tensor of_a =
      -(options.transpose ? matmul(y[0], transposed(of_b)) : matmul(of_b, transposed(y[0])));
  const int64_t k = options.unit_diagonal ? 1 : 0;
  return {options.lower ? tril(of_a, -k) : triu(of_a, k), of_b};
}

// 2 n^2 m for each pair of matrices: every row is a product of n elements with all rows of x.
double solve_flops(const OpNode& op) {
  return 2 * num_input_elements(op) * static_cast<double>(op.inputs[1].dim(-1));
}

const OpRules solve_rules({.name = "triangular_solve",
                           .infer = infer_solve,
                           .batch = trailing_dims,
                           .vjp = solve_vjp,
                           .eval = eval_composite<solve_formula>,
                           .hlo = hlo_composite<solve_formula>,
                           .cost = solve_flops});

}  // namespace

Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularSolveOptions& options) {
  if (std::min(a.rank(), b.rank()) < 2)
    shape_error("triangular_solve", "expected operands of at least two dims", {a, b});
  if (options.left_side) return emit(solve_rules, {a, b}, SolveAttributes(options));
  TriangularSolveOptions from_left = options;
  from_left.transpose = !options.transpose;
  from_left.left_side = true;
  return transposed(triangular_solve(a, transposed(b), from_left));
}

}  // namespace axle
