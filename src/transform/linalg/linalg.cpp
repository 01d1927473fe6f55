#include "transform/linalg/linalg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"
#include "transform/control_flow/control_flow.h"
#include "transform/linalg/matrices.h"
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

namespace {

// Roots have no derivative at 0; these have derivative 0 there. NaN stays NaN.
template <class F>
Tensor at_positive(const Tensor& x, F fn) {
  const Tensor is_zero = x <= 0;
  return select(is_zero, 0, fn(select(is_zero, 1, x)));
}
Tensor root(const Tensor& x) {
  return at_positive(x, [](const Tensor& positive) { return sqrt(positive); });
}

Tensor squared_magnitude(const Tensor& x) {
  return is_complex(x.dtype()) ? square(real(x)) + square(imag(x)) : square(x);
}

}  // namespace

Tensor vector_norm(const Tensor& x, const std::vector<int64_t>& axes, double p, bool keep_dims) {
  if (!is_differentiable(x.dtype()))
    shape_error("vector_norm", "expected floating-point or complex numbers", {x});
  if (std::isnan(p)) shape_error("vector_norm", "expected a number p, got nan", {x});
  const auto sum_of = [&](const Tensor& each) { return reduce_sum(each, axes, keep_dims); };
  if (p == 2) return root(sum_of(squared_magnitude(x)));
  if (p == 0) return sum_of(astype(not_equal(x, 0), real_dtype(x.dtype())));
  const Tensor size = abs(x);
  if (p == 1) return sum_of(size);
  if (std::isinf(p)) {
    if (p < 0) return reduce_min(size, axes, keep_dims);
    // The largest of no elements is -infinity.
    return maximum(reduce_max(size, axes, keep_dims), 0);
  }
  const auto power = [](double n) {
    return [n](const Tensor& positive) { return pow(positive, full_like(positive, n)); };
  };
  if (p > 0) return at_positive(sum_of(at_positive(size, power(p))), power(1 / p));
  // 0 to a negative power is infinite, and infinity to one 0.
  return power(1 / p)(sum_of(power(p)(size)));
}

Tensor matrix_norm(const Tensor& x, MatrixNorm norm) {
  if (x.rank() < 2 || !is_float(x.dtype()))
    shape_error("matrix_norm", "expected matrices of floating-point numbers", {x});
  switch (norm) {
    case MatrixNorm::kFrobenius:
      return root(reduce_sum(square(x), {-2, -1}));
    case MatrixNorm::kOne:
      return reduce_max(reduce_sum(abs(x), {-2}), {-1});
    case MatrixNorm::kInfinity:
      return reduce_max(reduce_sum(abs(x), {-1}), {-1});
    case MatrixNorm::kTwo:
      break;
  }
  // The smaller of the two matrices of squared singular values.
  const bool is_tall = x.dim(-2) >= x.dim(-1);
  const Tensor squared = is_tall ? matmul(transposed(x), x) : matmul(x, transposed(x));
  return root(index_in_dim(eigh(squared).first, -1, -1));
}

}  // namespace axle
