// Tensors from nothing: constants and counters.
#pragma once

#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle {

/// Every element is `value`: exact in integer dtypes, rounded to floating-point ones. Throws
/// ShapeError for a number that an integer dtype lacks.
Tensor full(const Shape& shape, Scalar value, DType dtype = DType::kF32);
Tensor zeros(const Shape& shape, DType dtype = DType::kF32);
Tensor ones(const Shape& shape, DType dtype = DType::kF32);
/// Of the type of `t`.
Tensor zeros_like(const Tensor& t);
Tensor full_like(const Tensor& t, Scalar value);
Tensor scalar(Scalar value, DType dtype = DType::kF32);
/// The data itself becomes part of the program: for small tables; larger data is an argument.
Tensor constant(const HostTensor& value);
/// 0, 1, 2, ... along dim `axis`.
Tensor iota(const Shape& shape, int64_t axis, DType dtype = DType::kI32);

}  // namespace axle
