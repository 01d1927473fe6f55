// Arithmetic on tensors.
//
// Both operands must have the same dtype. Shapes broadcast as in numpy: dims of size 1, and missing
// leading dims. A C++ number is converted to the dtype of the tensor operand; ShapeError is thrown
// if an integer dtype cannot represent it. Integer division and remainder truncate towards zero.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor operator-(const Tensor& x);
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, Scalar b);
Tensor operator-(const Tensor& a, Scalar b);
Tensor operator*(const Tensor& a, Scalar b);
Tensor operator/(const Tensor& a, Scalar b);
Tensor operator+(Scalar a, const Tensor& b);
Tensor operator-(Scalar a, const Tensor& b);
Tensor operator*(Scalar a, const Tensor& b);
Tensor operator/(Scalar a, const Tensor& b);
/// Has the sign of the dividend, like C's fmod and %.
Tensor remainder(const Tensor& a, const Tensor& b);
/// NaN if either operand is NaN. Equal operands share the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, Scalar b);
Tensor minimum(const Tensor& a, Scalar b);

/// Bitwise on integers, logical on predicates. Shapes broadcast.
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Tensor& b);
/// Bitwise complement of integers, logical not of predicates.
Tensor operator~(const Tensor& x);
/// Logical not of a predicate. Throws ShapeError for other dtypes.
Tensor logical_not(const Tensor& x);

/// Shifts. If `bits` is at least the width of the integer, the result is 0; an arithmetic right
/// shift then shifts in copies of the sign bit.
Tensor shift_left(const Tensor& a, const Tensor& bits);
Tensor shift_right_logical(const Tensor& a, const Tensor& bits);
Tensor shift_right_arithmetic(const Tensor& a, const Tensor& bits);
Tensor operator<<(const Tensor& a, int bits);
/// Logical for unsigned integers, arithmetic for signed ones, as in C++.
Tensor operator>>(const Tensor& a, int bits);
/// Number of bits that are 1.
Tensor popcount(const Tensor& x);
Tensor count_leading_zeros(const Tensor& x);

}  // namespace axle
