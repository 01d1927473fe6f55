// Exponentials, logarithms, roots and powers.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
/// exp(x) - 1, without cancellation near 0.
Tensor expm1(const Tensor& x);
/// 1 / (1 + exp(-x)).
Tensor logistic(const Tensor& x);
Tensor log(const Tensor& x);
/// log(x) / log(2), so powers of two need not have whole results: an ulp is possible.
Tensor log2(const Tensor& x);
/// log(1 + x), accurate for x near 0.
Tensor log1p(const Tensor& x);
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);
Tensor cbrt(const Tensor& x);
Tensor square(const Tensor& x);
/// x^y of floats. NaN if x is negative and y is not an integer.
Tensor pow(const Tensor& x, const Tensor& y);
/// x^n by repeated squaring. Throws ShapeError for integers to a negative power.
Tensor integer_pow(const Tensor& x, int64_t n);

}  // namespace axle
