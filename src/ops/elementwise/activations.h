// Activation functions. Only x is kept for the backward pass (relu: only the result). The backward
// pass recomputes all other values.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// max(x, 0); the derivative at 0 is 0.
Tensor relu(const Tensor& x);
/// relu(x)^2.
Tensor squared_relu(const Tensor& x);
/// x * logistic(x), also called swish.
Tensor silu(const Tensor& x);
/// The tanh approximation: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
Tensor gelu(const Tensor& x);
/// x * P(Z <= x) for a standard normal Z.
Tensor exact_gelu(const Tensor& x);
/// x * logistic(1.702 * x).
Tensor quick_gelu(const Tensor& x);
/// 1 / (1 + exp(-x)), the same as logistic.
Tensor sigmoid(const Tensor& x);

}  // namespace axle
