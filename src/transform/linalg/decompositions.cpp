#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"
#include "transform/control_flow/control_flow.h"
#include "transform/linalg/linalg.h"
#include "transform/linalg/matrices.h"

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

namespace {

std::vector<Type> infer_qr(const OpNode& op) {
  check_matrices(op);
  const Tensor& x = op.inputs[0];
  if (x.dim(-2) < x.dim(-1))
    shape_error(op, fmt::format("expected no more columns than rows, got {}", to_text(x.shape())));
  Type r = x.type();
  r.dims[r.dims.size() - 2] = x.dim(-1);
  return {x.type(), r};
}

// The reflection x - tau v (v^T x).
struct Reflection {
  Tensor v, tau;
};

Tensor reflected(const Tensor& x, const Reflection& h) {
  const Tensor along_v = dot(h.v, x, {.precision = Precision::kHighest});
  return x - h.tau * expand_dims(h.v, 1) * expand_dims(along_v, 0);
}

// Returns the reflection that leaves the elements before i as they are and makes those after i
// zero. Where they are zero already it is none at all, as in LAPACK.
Reflection reflection_of(const Tensor& column, const Tensor& i) {
  const Tensor rows = iota(column.shape(), 0);
  const Tensor pivot = dynamic_index_in_dim(column, i);
  const Tensor below = select(rows > i, column, 0);
  const Tensor sum_of_squares = sum(square(below));
  const Tensor norm = sqrt(square(pivot) + sum_of_squares);
  const Tensor target = select(pivot < 0, norm, -norm);
  const Tensor is_reflected = sum_of_squares > 0;
  return {select(equal(rows, i), 1, below / select(is_reflected, pivot - target, 1)),
          select(is_reflected, (target - pivot) / select(is_reflected, target, 1), 0)};
}

Values decompose_qr(const Values& x) {
  const int64_t m = x[0].dim(0), n = x[0].dim(1);
  const ScanBody next_column = [](const Values& rest, const Values& i) -> ScanResult {
    const Reflection h = reflection_of(dynamic_index_in_dim(rest[0], i[0], 1), i[0]);
    return {{reflected(rest[0], h)}, {h.v, h.tau}};
  };
  const ScanResult reduced = scan(next_column, x, {iota({n}, 0)}, n);
  const ScanBody undo = [](const Values& q, const Values& h) -> ScanResult {
    return {{reflected(q[0], {h[0], h[1]})}, {}};
  };
  const Values q = scan(undo, {eye(m, n, 0, x[0].dtype())}, reduced.ys, n, {.reverse = true}).carry;
  return {q[0], triu(slice_in_dim(reduced.carry[0], 0, 0, n))};
}

Values qr_formula(const OpNode&, const Values& x) { return each_matrix(decompose_qr, x); }

// With M = r gr^T - gq^T q and its lower triangle mirrored to a symmetric S: (gq + q S) r^-T.
Values qr_vjp(X, Y y, Ct g) {
  const Tensor &q = y[0], &r = y[1];
  const Tensor m = matmul(r, transposed(triu(g[1]))) - matmul(transposed(g[0]), q);
  const Tensor s = tril(m) + transposed(tril(m, -1));
  return {triangular_solve(r, g[0] + matmul(q, s),
                           {.lower = false, .transpose = true, .left_side = false})};
}

// 8 m n^2 for each matrix: every column is a reflection of x and one of q. A reflection of [m, n]
// is a product of 2 m n, then a product and a difference of m n elements.
double qr_flops(const OpNode& op) {
  const double n = static_cast<double>(op.inputs[0].dim(-1));
  return 8 * num_input_elements(op) * n;
}

const OpRules qr_rules({.name = "qr",
                        .infer = infer_qr,
                        .batch = trailing_dims,
                        .vjp = qr_vjp,
                        .eval = eval_composite<qr_formula>,
                        .hlo = hlo_composite<qr_formula>,
                        .cost = qr_flops});

}  // namespace

std::pair<Tensor, Tensor> qr(const Tensor& x) {
  if (x.rank() < 2) shape_error("qr", "expected matrices", {x});
  const int64_t m = x.dim(-2), n = x.dim(-1);
  if (m >= n) {
    const Values y = emit_all(qr_rules, {x});
    return {y[0], y[1]};
  }
  const auto [q, r] = qr(slice_in_dim(x, -1, 0, m));
  return {q, concatenate({r, matmul(transposed(q), slice_in_dim(x, -1, m, n))}, -1)};
}

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
