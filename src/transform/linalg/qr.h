// The QR decomposition, by Householder reflections.
//
// Source of the gradient: Walter and Lehmann 2010, "Algorithmic differentiation of linear algebra
// functions with application in optimum experimental design", arXiv 1001.1654, section 2.
#pragma once

#include <utility>

#include "ir/tensor.h"

namespace axle {

/// Returns q with orthonormal columns and the upper triangular r with q r = x. The signs are
/// LAPACK's.
///
/// The gradient needs the first min(m, n) columns of x to be linearly independent; otherwise it is
/// infinite or NaN.
///
/// Costs 8 m n^2 floating-point operations with n <= m, and terms of lower order. With m < n, the
/// first m columns are decomposed, and the others multiplied by q^T.
///
/// Shapes: x[.., m, n] f32|f64 -> q[.., m, k], r[.., k, n] with k = min(m, n). Throws ShapeError
/// for other dtypes and shapes.
std::pair<Tensor, Tensor> qr(const Tensor& x);

}  // namespace axle
