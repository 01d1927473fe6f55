// Activation functions that configs can name: Fn<Tensor(const Tensor&)> activation = {"silu",
// &silu}.
//
// Names: silu, gelu (by tanh), exact_gelu, quick_gelu, relu, squared_relu, sigmoid, tanh, linear.
#pragma once

#include "config/fields/fn.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/trigonometry.h"

namespace axle {

using Activation = Fn<Tensor(const Tensor&)>;

/// x itself.
Tensor linear(const Tensor& x);

}  // namespace axle
