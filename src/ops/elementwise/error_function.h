// The error function, its complement and its inverse.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor erf(const Tensor& x);
/// 1 - erf(x), without cancellation where erf(x) is near 1.
Tensor erfc(const Tensor& x);
/// The inverse of erf on (-1, 1). Infinite at -1 and 1, NaN outside. The f32 result is within 4 ulp
/// of XLA's.
Tensor erf_inv(const Tensor& x);

}  // namespace axle
