// Norms of matrices.
#pragma once

#include <cstdint>

#include "ir/tensor.h"

namespace axle {

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
