// The Cholesky factor of positive definite matrices.
//
// Source of the gradient: Murray 2016, "Differentiation of the Cholesky decomposition",
// arXiv 1602.07527, section 3.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Returns the lower triangular L with L L^T = (x + x^T) / 2. From the first column on at which the
/// matrix is not positive definite, L is NaN.
///
/// Costs 2 n^3 floating-point operations, and terms of lower order: columns are not shortened, so
/// that the loop has one shape.
///
/// Shapes: x[.., n, n] f32|f64 -> [.., n, n]. Throws ShapeError for other dtypes and shapes.
Tensor cholesky(const Tensor& x);

}  // namespace axle
