// Normalization of tensors, without parameters. Layers with a scale and a bias are in layers/.
//
// 16-bit operands are computed in f32 and rounded once at the end.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace axle {

/// (x - mean) / sqrt(variance + epsilon) over `axes`, with the variance in two passes, as
/// jax.nn.standardize(algorithm="stable"). Shapes: x f.. -> the same type.
Tensor standardize(const Tensor& x, const std::vector<int64_t>& axes = {-1}, double epsilon = 1e-5);
/// x / sqrt(max(sum(x^2), epsilon)) over `axes`: length 1 unless x is nearly zero. The gradient at
/// zero is finite.
Tensor l2_normalize(const Tensor& x, const std::vector<int64_t>& axes = {-1},
                    double epsilon = 1e-12);

}  // namespace axle
