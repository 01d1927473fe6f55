// Magnitude, sign and rounding.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor abs(const Tensor& x);
/// -1, 0 or 1; keeps -0 and NaN.
Tensor sign(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
/// Halves go to the even neighbour.
Tensor round_nearest_even(const Tensor& x);
/// Halves go away from zero.
Tensor round_nearest_afz(const Tensor& x);
/// Neither infinite nor NaN; a predicate.
Tensor is_finite(const Tensor& x);

}  // namespace axle
