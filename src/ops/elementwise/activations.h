// Activation functions. Those with an op of their own keep only x for the backward pass (relu: only
// the result) and recompute all other values; the others, from log_sigmoid on, are formulas.
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

// Activation functions of several pieces, as in jax.nn. Their gradients at the kinks are the same
// as in JAX.

/// x where x >= 0, else negative_slope * x.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// min(max(x, 0), 6); the derivative at 0 and 6 is 0.
Tensor relu6(const Tensor& x);
/// x where x > 0, else alpha * (exp(x) - 1).
Tensor elu(const Tensor& x, double alpha = 1);
/// x where x > 0, else alpha * (exp(x / alpha) - 1), which has a continuous derivative.
Tensor celu(const Tensor& x, double alpha = 1);
/// elu with the scales of self-normalizing networks (Klambauer et al. 2017, arXiv 1706.02515).
Tensor selu(const Tensor& x);
/// x between -1 and 1, else the nearest of both.
Tensor hard_tanh(const Tensor& x);
/// relu6(x + 3) / 6.
Tensor hard_sigmoid(const Tensor& x);
/// x * hard_sigmoid(x), also called hard swish.
Tensor hard_silu(const Tensor& x);
/// 0 where x <= -1, x where x >= 1, else (x + 1)^2 / 4.
Tensor sparse_plus(const Tensor& x);
/// min(max(x + 1, 0), 2) / 2: the derivative of sparse_plus.
Tensor sparse_sigmoid(const Tensor& x);

}  // namespace axle
