// Samplers of matrices.
#pragma once

#include "ir/tensor.h"
#include "ops/random/key.h"

namespace axle::random {

/// Matrices with orthonormal columns, or rows if there are fewer of these, all equally likely.
///
/// Shape of the result: batch.., rows, columns. Throws ShapeError unless dtype is f32 or f64.
/// Source: Mezzadri 2007, "How to generate random matrices from the classical compact groups",
/// arXiv math-ph/0609050, section 5.
Tensor orthogonal(const Key& key, const Shape& batch, int64_t rows, int64_t columns,
                  DType dtype = DType::kF32);

}  // namespace axle::random
