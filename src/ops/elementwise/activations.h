// Activation functions. Those with an op of their own keep only x for the backward pass (relu: only
// the result) and recompute all other values; the others, from log_sigmoid on, are formulas.
// piecewise_activations.h has more.
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
/// log(logistic(x)), without overflow.
Tensor log_sigmoid(const Tensor& x);
/// cap * tanh(x / cap): close to x where |x| is much less than cap, and never beyond cap.
Tensor soft_cap(const Tensor& x, double cap);
/// x / (|x| + 1).
Tensor soft_sign(const Tensor& x);
/// (x + sqrt(x^2 + b)) / 2.
Tensor squareplus(const Tensor& x, double b = 4);
/// x * tanh(softplus(x)).
Tensor mish(const Tensor& x);
/// The first half of x along `axis` times the logistic of the second half. Throws ShapeError if the
/// size is odd.
Tensor glu(const Tensor& x, int64_t axis = -1);

}  // namespace axle
