// Norms of vectors and of matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/tensor.h"

namespace axle {

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
