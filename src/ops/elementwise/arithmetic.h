// Arithmetic on tensors.
//
// Operands have one dtype; shapes broadcast as in numpy (dims of size 1 or missing in front). A C++
// number takes the dtype of the tensor beside it, exactly: ShapeError if an integer dtype lacks it.
// Integer division and remainder truncate towards zero.
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
/// Sign of the dividend, as C's fmod and %.
Tensor remainder(const Tensor& a, const Tensor& b);
/// NaN if either is NaN; equal operands share the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, Scalar b);
Tensor minimum(const Tensor& a, Scalar b);

}  // namespace axle
