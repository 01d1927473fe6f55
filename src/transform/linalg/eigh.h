// The eigendecomposition of symmetric matrices, by Jacobi's method.
//
// Sources: Golub and Van Loan, "Matrix Computations", 4th edition, section 8.5 (parallel order);
// Giles 2008, "An extended collection of matrix derivative results", section 3.1.
#pragma once

#include <utility>

#include "ir/tensor.h"

namespace axle {

/// Returns the eigenvalues w of (x + x^T) / 2 in ascending order, and the matrix v whose column i
/// is an eigenvector of w[i]. Columns are orthonormal; their signs are not specified. The number
/// of rotations is fixed. It is enough for matrices of several hundred rows.
///
/// Equal eigenvalues have no unique eigenvectors, hence no derivative of them. The gradient leaves
/// rotations among them out. So it is right for sums over all eigenvalues and for projections on
/// whole eigenspaces, but not for other functions of the vectors, not even for v f(w) v^T. Where
/// eigenvalues are nearly equal, the gradient of their eigenvectors is large.
///
/// Costs 108 n^3 floating-point operations (12 sweeps of 9 n^3), and terms of lower order.
///
/// Shapes: x[.., n, n] f32|f64 -> w[.., n], v[.., n, n]. Throws ShapeError for other dtypes and
/// shapes.
std::pair<Tensor, Tensor> eigh(const Tensor& x);

}  // namespace axle
