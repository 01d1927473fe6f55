// Activation functions that configs can name:
//   Activation activation = {"silu", &silu};
//
// Names: silu, gelu (tanh approximation), exact_gelu, quick_gelu, relu, squared_relu, sigmoid,
// tanh, linear.
#pragma once

#include "config/fields/fn.h"
#include "ops/elementwise/activations.h"

namespace axle {

using Activation = Fn<Tensor(const Tensor&)>;

/// Returns x.
Tensor linear(const Tensor& x);

}  // namespace axle
