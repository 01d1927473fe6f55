// Conversion between element types.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Converts the values to `dtype`; returns x if it has this dtype. Floats are truncated to
/// integers. Conversion to pred means `!= 0`.
Tensor astype(const Tensor& x, DType dtype);
/// Reinterprets the bits of x as `dtype`. A narrower dtype adds a last dim for the parts of each
/// element. A wider dtype consumes the last dim. Throws ShapeError for predicates and
/// complex numbers.
Tensor bitcast_convert(const Tensor& x, DType dtype);
/// Rounds x to the precision of a float with these numbers of bits and keeps the dtype of x. (8, 7)
/// rounds to bf16.
Tensor reduce_precision(const Tensor& x, int exponent_bits, int mantissa_bits);

}  // namespace axle
