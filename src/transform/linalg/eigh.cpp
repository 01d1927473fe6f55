#include "transform/linalg/eigh.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/movement/sort.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"
#include "transform/control_flow/scan.h"
#include "transform/linalg/matrices.h"

namespace axle {
namespace {

// A sweep rotates every pair of rows once. Convergence is quadratic: in f64, matrices of 200 rows
// take 9 sweeps.
constexpr int64_t kNumSweeps = 12;

// The rotations of the pairs (i, i + k) of 2k rows.
struct Rotations {
  Tensor c, s;
};

// Returns those that make the elements between the rows of each pair zero. The angles are the small
// ones, of at most 45 degrees. Elements that vanish beside both diagonal elements are left alone:
// further rotations would only add rounding errors.
Rotations rotations_of(const Tensor& a) {
  const int64_t k = a.dim(0) / 2;
  const Tensor d = diagonal(a);
  const Tensor p = slice_in_dim(d, 0, 0, k), q = slice_in_dim(d, 0, k, 2 * k);
  const Tensor between = diagonal(slice(a, {0, k}, {k, 2 * k}));
  const auto vanishes_beside = [size = abs(between)](const Tensor& x) {
    return equal(abs(x) + size, abs(x));
  };
  const Tensor is_done = vanishes_beside(p) & vanishes_beside(q);
  const Tensor cotangent = (q - p) / select(is_done, 1, 2 * between);
  const Tensor t = 1 / (abs(cotangent) + sqrt(1 + square(cotangent)));
  const Tensor tangent = select(is_done, 0, select(cotangent < 0, -t, t));
  const Tensor c = rsqrt(1 + square(tangent));
  return {c, tangent * c};
}

Tensor rotated_rows(const Tensor& x, const Rotations& r) {
  const int64_t k = x.dim(0) / 2;
  const Tensor top = slice_in_dim(x, 0, 0, k), bottom = slice_in_dim(x, 0, k, 2 * k);
  const Tensor c = expand_dims(r.c, 1), s = expand_dims(r.s, 1);
  return concatenate({c * top - s * bottom, s * top + c * bottom}, 0);
}

// Moves all rows but the first around a circle, as in a tournament: after 2k - 1 rounds every row
// has met every other one and is back at its place.
Tensor next_round(const Tensor& x) {
  const int64_t k = x.dim(0) / 2;
  if (k == 1) return x;
  const auto rows = [&](int64_t first, int64_t end) { return slice_in_dim(x, 0, first, end); };
  return concatenate(
      {rows(0, 1), rows(k, k + 1), rows(1, k - 1), rows(k + 1, 2 * k), rows(k - 1, k)}, 0);
}

// Returns the eigenvalues and eigenvectors of a symmetric matrix. An odd number of rows gets one
// more: its zeros are never rotated into the others.
Values decompose(const Values& x) {
  const int64_t n = x[0].dim(0), even = n + n % 2;
  const Tensor a = pad(x[0], 0, {0, 0}, {even - n, even - n});
  const ScanBody round = [](const Values& v, const Values&) -> ScanResult {
    const Rotations r = rotations_of(v[0]);
    const Tensor half = next_round(rotated_rows(v[0], r));
    const Tensor both = next_round(rotated_rows(transposed(half), r));
    return {{both, next_round(rotated_rows(v[1], r))}, {}};
  };
  const Values last =
      scan(round, {a, eye(even, even, 0, a.dtype())}, {}, kNumSweeps * (even - 1)).carry;
  const Tensor w = slice_in_dim(diagonal(last[0]), 0, 0, n);
  const Tensor v = slice(last[1], {0, 0}, {n, n});
  const Tensor order = argsort(w);
  return {take(w, order), transposed(take(v, order))};
}

Values eigh_formula(const OpNode&, const Values& x) { return each_matrix(decompose, x); }

// v (diag(gw) + F * (v^T gv)) v^T with F[i, j] = 1 / (w[j] - w[i]), 0 where the eigenvalues are
// equal.
Values eigh_vjp(X, Y y, Ct g) {
  const Tensor &w = y[0], &v = y[1];
  const Tensor gap = expand_dims(w, -2) - expand_dims(w, -1);
  const Tensor is_equal = equal(gap, 0);
  const Tensor f = select(is_equal, 0, 1 / select(is_equal, 1, gap));
  const Tensor of_w = expand_dims(g[0], -1) * eye(w.dim(-1), w.dim(-1), 0, w.dtype());
  const Tensor inner = of_w + f * matmul(transposed(v), g[1]);
  return {matmul(matmul(v, inner), transposed(v))};
}

// 9 n^3 kNumSweeps for each matrix: a sweep has n - 1 rounds (n of an odd n), and each rotates the
// rows of three matrices with 3 operations for each element.
double eigh_flops(const OpNode& op) {
  const double n = static_cast<double>(op.inputs[0].dim(-1));
  return 9 * num_input_elements(op) * n * static_cast<double>(kNumSweeps);
}

const OpRules eigh_rules({.name = "eigh",
                          .infer =
                              [](const OpNode& op) {
                                check_square_matrices(op);
                                Type w = op.inputs[0].type();
                                w.dims.pop_back();
                                return std::vector<Type>{w, op.inputs[0].type()};
                              },
                          .batch = trailing_dims,
                          .vjp = eigh_vjp,
                          .eval = eval_composite<eigh_formula>,
                          .hlo = hlo_composite<eigh_formula>,
                          .cost = eigh_flops});

}  // namespace

std::pair<Tensor, Tensor> eigh(const Tensor& x) {
  check_square_operand("eigh", x);
  const Values y = emit_all(eigh_rules, {symmetrized(x)});
  return {y[0], y[1]};
}

}  // namespace axle
