// The logarithm of the gamma function and its derivatives.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// log |Gamma(x)|. Infinite at 0, -1, -2, ...
Tensor lgamma(const Tensor& x);
/// The derivative of lgamma. -inf at 0, NaN at -1, -2, ...
Tensor digamma(const Tensor& x);
/// The derivative of digamma of the given order, 1 or more, for x > 0. NaN for other x.
Tensor polygamma(int64_t order, const Tensor& x);

}  // namespace axle
