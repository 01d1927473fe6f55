// Exponentials, logarithms, roots and powers.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
/// exp(x) - 1, exact near 0.
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
/// log(1 + x), exact near 0.
Tensor log1p(const Tensor& x);
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);
Tensor cbrt(const Tensor& x);
Tensor square(const Tensor& x);
/// Of floats; NaN for a negative x and a fraction y.
Tensor pow(const Tensor& x, const Tensor& y);
/// By repeated squaring. Throws ShapeError for integers to a negative power.
Tensor integer_pow(const Tensor& x, int64_t n);

}  // namespace axle
