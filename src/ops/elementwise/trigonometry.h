// Circular and hyperbolic functions.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
/// The angle of the point (x, y), in (-pi, pi].
Tensor atan2(const Tensor& y, const Tensor& x);
Tensor tanh(const Tensor& x);

}  // namespace axle
