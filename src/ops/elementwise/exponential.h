// Exponentials, logarithms, roots and powers; circular and hyperbolic functions; complex numbers.
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

Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
/// The angle of the point (x, y), in (-pi, pi].
Tensor atan2(const Tensor& y, const Tensor& x);
Tensor tanh(const Tensor& x);

// Complex numbers: their parts, and how to make them.
//
// A complex tensor is c64 (parts of f32) or c128 (parts of f64). Cotangents are JAX's: with g that
// of a complex tensor, the derivative in direction v is the real part of sum(g * v), without
// conjugation. So the direction of steepest ascent of a real function is conj(g).

/// Returns real + i * imag. Both operands are f32 or both f64; shapes broadcast. Throws ShapeError
/// for other dtypes.
Tensor complex(const Tensor& real, const Tensor& imag);
/// Returns the real part, as f32 or f64. Throws ShapeError if z is not complex.
Tensor real(const Tensor& z);
/// Returns the imaginary part, as f32 or f64. Throws ShapeError if z is not complex.
Tensor imag(const Tensor& z);
/// Returns real(z) - i * imag(z). Throws ShapeError if z is not complex.
Tensor conj(const Tensor& z);

}  // namespace axle
