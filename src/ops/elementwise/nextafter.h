// The neighbouring floating-point number.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Returns the next number of the dtype from `from` towards `to`; `to` if they are equal. Shapes
/// broadcast. Floats of 16 bits or more; others throw ShapeError. It has no gradient.
Tensor nextafter(const Tensor& from, const Tensor& to);

}  // namespace axle
