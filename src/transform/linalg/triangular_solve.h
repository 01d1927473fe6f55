// Linear equations with triangular matrices, by substitution.
#pragma once

#include "ir/tensor.h"

namespace axle {

struct TriangularSolveOptions {
  /// True if the lower triangle of `a` is the matrix, false if the upper one is. The elements of
  /// the other triangle have no influence, whatever they are.
  bool lower = true;
  /// Solves with the transpose of this matrix.
  bool transpose = false;
  /// The diagonal is taken to be 1, and its elements have no influence.
  bool unit_diagonal = false;
  /// True: solves a x = b. False: solves x a = b.
  bool left_side = true;
};

/// Returns the solution x of a x = b. A zero on the diagonal gives infinities or NaN.
///
/// Costs 2 n^2 m floating-point operations, and terms of lower order: the zeros of the other
/// triangle are multiplied too.
///
/// Shapes: a[.., n, n], b[.., n, m] -> [.., n, m]; with left_side = false b[.., m, n] ->
/// [.., m, n]. All are f32 or all f64; leading dims are equal. Throws ShapeError for others.
Tensor triangular_solve(const Tensor& a, const Tensor& b,
                        const TriangularSolveOptions& options = {});

}  // namespace axle
