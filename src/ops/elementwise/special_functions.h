// The error function, its complement and inverse; the logarithm of the gamma function and its
// derivatives.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor erf(const Tensor& x);
/// 1 - erf(x), without cancellation where erf(x) is near 1.
Tensor erfc(const Tensor& x);
/// The inverse of erf on (-1, 1). Infinite at -1 and 1, NaN outside. The f32 result is within 4 ulp
/// of XLA's.
Tensor erf_inv(const Tensor& x);

/// log |Gamma(x)|. Infinite at 0, -1, -2, ...
Tensor lgamma(const Tensor& x);
/// The derivative of lgamma. -inf at 0, NaN at -1, -2, ...
Tensor digamma(const Tensor& x);
/// The derivative of digamma of the given order, 1 or more, for x > 0. NaN for other x.
Tensor polygamma(int64_t order, const Tensor& x);

}  // namespace axle
