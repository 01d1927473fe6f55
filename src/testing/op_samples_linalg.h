// Samples of the decompositions of matrices.
#pragma once

#include "testing/op_sample.h"
#include "transform/linalg/linalg.h"
#include "transform/linalg/matrices.h"

namespace axle::testing::samples {

// Sums of fixed matrices and small variable ones, so that the factors are well determined for any
// order of the elements.
inline void add_linalg(std::vector<OpSample>& out) {
  const HostTensor x = uniform({4, 4}, -0.5, 0.5), b = uniform({4, 2}, -1, 1, 3);
  out.push_back(call("cholesky", {x}, [](const Values& v) {
    return cholesky(v[0] + 3 * eye(4, 4, 0, v[0].dtype()));
  }));
  out.push_back(call("cholesky", {uniform({2, 3, 3}, -0.5, 0.5)}, [](const Values& v) {
    return cholesky(v[0] + 3 * eye(3, 3, 0, v[0].dtype()));
  }));
  for (const bool lower : {false, true}) {
    for (const bool transpose : {false, true}) {
      for (const bool unit_diagonal : {false, true}) {
        const TriangularSolveOptions options{
            .lower = lower, .transpose = transpose, .unit_diagonal = unit_diagonal};
        out.push_back(call("triangular_solve", {x, b}, [options](const Values& v) {
          return triangular_solve(v[0] + 2 * eye(4, 4, 0, v[0].dtype()), v[1], options);
        }));
      }
    }
  }
  out.push_back(call("triangular_solve", {x, uniform({2, 4}, -1, 1, 3)}, [](const Values& v) {
    return triangular_solve(v[0] + 2 * eye(4, 4, 0, v[0].dtype()), v[1], {.left_side = false});
  }));
  out.push_back(call("triangular_solve", {uniform({2, 3, 3}), uniform({2, 3, 1}, -1, 1, 3)},
                     [](const Values& v) {
                       return triangular_solve(v[0] + 4 * eye(3, 3, 0, v[0].dtype()), v[1]);
                     }));
  for (const Shape& shape : {Shape{4, 4}, Shape{2, 4, 3}, Shape{3, 4}}) {
    out.push_back({"qr", {uniform(shape, -0.5, 0.5)}, [](const Values& v) {
                     const Tensor& a = v[0];
                     const auto [q, r] = qr(a + 2 * eye(a.dim(-2), a.dim(-1), 0, a.dtype()));
                     return Values{q, r};
                   }});
  }
  for (const Shape& shape : {Shape{1, 1}, Shape{2, 2}, Shape{2, 3, 3}, Shape{4, 4}}) {
    out.push_back({"eigh", {uniform(shape, -0.5, 0.5)}, [n = shape.back()](const Values& v) {
                     const Tensor steps = iota({n, n}, 0, v[0].dtype());
                     const auto [values, vectors] =
                         eigh(v[0] + 2 * steps * eye(n, n, 0, v[0].dtype()));
                     return Values{values, vectors};
                   }});
  }
}

}  // namespace axle::testing::samples
