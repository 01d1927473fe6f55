#include "transform/linalg/qr.h"

#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/products/dot.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"
#include "transform/control_flow/scan.h"
#include "transform/linalg/matrices.h"
#include "transform/linalg/triangular_solve.h"

namespace axle {
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

}  // namespace axle
