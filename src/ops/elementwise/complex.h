// Complex numbers: their parts, and how to make them.
//
// A complex tensor is c64 (parts of f32) or c128 (parts of f64). Cotangents are JAX's: with g that
// of a complex tensor, the derivative in direction v is the real part of sum(g * v), without
// conjugation. So the direction of steepest ascent of a real function is conj(g).
#pragma once

#include "ir/tensor.h"

namespace axle {

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
