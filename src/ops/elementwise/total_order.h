// Comparisons in the total order of IEEE 754: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
//
// Unlike compare.h, every float has a place, so that a NaN equals itself and -0 is less than 0.
// Shapes broadcast. Other dtypes are compared as in compare.h; complex ones throw ShapeError.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor total_equal(const Tensor& a, const Tensor& b);
Tensor total_less(const Tensor& a, const Tensor& b);
Tensor total_less_equal(const Tensor& a, const Tensor& b);

}  // namespace axle
