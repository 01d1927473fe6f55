// Floats as 8-bit integers times a scale.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// The numbers integers * scale, where the integers are of [-127, 127] and the scale has a size of
/// 1 along some axes.
struct ScaledIntegers {
  Tensor integers, scale;  // dtype of x; f32 (f64 for f64)
};
/// Rounds x. Along `axes`, the largest absolute value becomes 127. Zeros have the scale 1.
ScaledIntegers to_integers(const Tensor& x, const std::vector<int64_t>& axes);

}  // namespace axle
