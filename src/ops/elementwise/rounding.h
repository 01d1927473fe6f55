// Magnitude, sign and rounding.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// For complex numbers: a real tensor of their magnitudes, whose gradient is 0 at 0.
Tensor abs(const Tensor& x);
/// -1, 0 or 1. Returns -0 for -0 and NaN for NaN.
Tensor sign(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
/// Rounds to the nearest integer, halves to the even neighbour.
Tensor round_nearest_even(const Tensor& x);
/// Rounds to the nearest integer, halves away from zero.
Tensor round_nearest_afz(const Tensor& x);
/// Returns a predicate that is true where x is neither infinite nor NaN.
Tensor is_finite(const Tensor& x);
/// True for `is_finite` ops.
bool is_finite_check(const OpNode& op);

/// Returns the next number of the dtype from `from` towards `to`; `to` if they are equal. Shapes
/// broadcast. Floats of 16 bits or more; others throw ShapeError. It has no gradient.
Tensor nextafter(const Tensor& from, const Tensor& to);

}  // namespace axle
