// Arithmetic on tensors.
//
// Both operands must have the same dtype. Shapes broadcast as in numpy: dims of size 1, and missing
// leading dims. A C++ number is converted to the dtype of the tensor operand; ShapeError is thrown
// if an integer dtype cannot represent it. Integer division and remainder truncate towards zero.
#pragma once

#include "ir/scalar.h"
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

}  // namespace axle
