// Activation functions of several pieces, as in jax.nn. Their gradients at the kinks are those of
// JAX.
#pragma once

#include "ir/tensor.h"

namespace axle {

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
