// Linear equations, by the decompositions.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Returns the solution x of a x = b for any invertible a, by the QR decomposition of a. If a is
/// singular, the result is large, infinite or NaN.
///
/// Shapes: a[.., n, n], b[.., n, m] -> [.., n, m]. All are f32 or all f64; leading dims are equal.
/// Throws ShapeError for others.
Tensor solve(const Tensor& a, const Tensor& b);
/// Returns the solution x of l l^T x = b, where l = cholesky(a). Shapes and errors are those of
/// solve.
Tensor cho_solve(const Tensor& l, const Tensor& b);
/// Returns the inverse of x[.., n, n]. To solve equations, solve is more accurate.
Tensor inverse(const Tensor& x);

}  // namespace axle
