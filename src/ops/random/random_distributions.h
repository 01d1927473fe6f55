// Samplers made from uniform, normal and exponential numbers, in closed form. Those that reject
// draws are in transform/random/gamma.h and transform/random/counts.h.
//
// Parameters are float tensors that broadcast to `shape`; they give the dtype and have gradients.
#pragma once

#include "ir/tensor.h"
#include "ops/random/key.h"

namespace axle::random {

/// Density b x^(-b - 1) for x >= 1.
Tensor pareto(const Key& key, const Shape& shape, const Tensor& b);
/// exp of a normal number with mean 0 and standard deviation sigma.
Tensor lognormal(const Key& key, const Shape& shape, const Tensor& sigma);
/// Density (x / scale^2) exp(-x^2 / (2 scale^2)) for x >= 0.
Tensor rayleigh(const Key& key, const Shape& shape, const Tensor& scale);
/// Inverse Gaussian distribution with this mean and shape parameter 1.
Tensor wald(const Key& key, const Shape& shape, const Tensor& mean);
/// scale e^(1 / concentration) with e exponential: the smallest of many waiting times.
Tensor weibull_min(const Key& key, const Shape& shape, const Tensor& scale,
                   const Tensor& concentration);
/// Density that rises linearly from `left` to `mode` and falls linearly to `right`.
Tensor triangular(const Key& key, const Shape& shape, const Tensor& left, const Tensor& mode,
                  const Tensor& right);
/// Number of trials until the first success, 1 or more, if each succeeds with probability p.
Tensor geometric(const Key& key, const Shape& shape, const Tensor& p, DType dtype = DType::kI32);
/// Length of a vector of three standard normal numbers.
Tensor maxwell(const Key& key, const Shape& shape, DType dtype = DType::kF32);
/// loc + scale m with m from the Maxwell distribution, with a random sign.
Tensor double_sided_maxwell(const Key& key, const Shape& shape, const Tensor& loc,
                            const Tensor& scale);
/// mean + factor z with z standard normal: the covariance is factor factor^T, so that its Cholesky
/// factor is one choice.
///
/// Shapes: mean[.., n], factor[.., n, n] -> y[batch.., n]; the leading dims broadcast to `batch`.
Tensor multivariate_normal(const Key& key, const Shape& batch, const Tensor& mean,
                           const Tensor& factor);

}  // namespace axle::random
