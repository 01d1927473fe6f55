// Conversion between element types.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// The values in another dtype; x itself if it has that dtype. Floats to integers truncate;
/// anything to pred is `!= 0`.
Tensor astype(const Tensor& x, DType dtype);
/// The bits under another dtype. If widths differ, the last dim is split off for narrower elements,
/// or consumed by wider ones. Throws ShapeError for predicates.
Tensor bitcast_convert(const Tensor& x, DType dtype);
/// Rounds to what a float of these bits can hold, in the dtype of x: (8, 7) is bf16.
Tensor reduce_precision(const Tensor& x, int exponent_bits, int mantissa_bits);

}  // namespace axle
