// The error function, its complement and its inverse.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor erf(const Tensor& x);
/// 1 - erf(x), exact where erf is near 1.
Tensor erfc(const Tensor& x);
/// Of (-1, 1); infinite at the ends, NaN beyond. In f32 within 4 ulp of XLA's.
Tensor erf_inv(const Tensor& x);

}  // namespace axle
