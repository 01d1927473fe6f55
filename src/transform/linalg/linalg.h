// Linear algebra over stacks of matrices: equations, decompositions, norms.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/tensor.h"

namespace axle {

// Linear equations with triangular matrices, by substitution.

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

// Linear equations, by the decompositions.

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

// The Cholesky factor of positive definite matrices.
//
// Source of the gradient: Murray 2016, "Differentiation of the Cholesky decomposition",
// arXiv 1602.07527, section 3.

/// Returns the lower triangular L with L L^T = (x + x^T) / 2. From the first column on at which the
/// matrix is not positive definite, L is NaN.
///
/// Costs 2 n^3 floating-point operations, and terms of lower order: columns are not shortened, so
/// that the loop has one shape.
///
/// Shapes: x[.., n, n] f32|f64 -> [.., n, n]. Throws ShapeError for other dtypes and shapes.
Tensor cholesky(const Tensor& x);

// The QR decomposition, by Householder reflections.
//
// Source of the gradient: Walter and Lehmann 2010, "Algorithmic differentiation of linear algebra
// functions with application in optimum experimental design", arXiv 1001.1654, section 2.

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

// The eigendecomposition of symmetric matrices, by Jacobi's method.
//
// Sources: Golub and Van Loan, "Matrix Computations", 4th edition, section 8.5 (parallel order);
// Giles 2008, "An extended collection of matrix derivative results", section 3.1.

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

// Norms of vectors and of matrices.

/// Returns (sum of |x|^p over `axes`)^(1/p): 2 is the length, 1 the sum of magnitudes, infinity the
/// largest magnitude, -infinity the least, 0 the number of elements that are not 0. Reduced dims
/// are dropped, or kept with size 1. The gradient at a vector of zeros is finite.
///
/// 16-bit numbers are squared and powered in their own dtype, and summed in f32. Shapes: x of a
/// floating-point or complex dtype -> real. Throws ShapeError for other dtypes and for a NaN p.
Tensor vector_norm(const Tensor& x, const std::vector<int64_t>& axes = {-1}, double p = 2,
                   bool keep_dims = false);

enum class MatrixNorm : uint8_t {
  kFrobenius,  // the root of the sum of squares
  kOne,        // the largest sum of magnitudes of a column
  kInfinity,   // the largest sum of magnitudes of a row
  kTwo         // the largest singular value
};

/// Returns the norm of each matrix. The gradient of the Frobenius norm of zeros is 0.
///
/// Shapes: x[.., m, n] of any floating-point dtype -> [..]; for kTwo f32|f64. Throws ShapeError for
/// other dtypes and shapes.
Tensor matrix_norm(const Tensor& x, MatrixNorm norm = MatrixNorm::kFrobenius);

}  // namespace axle
