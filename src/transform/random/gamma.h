// Samplers of the gamma distribution and of those made from it.
//
// Parameters are float tensors that broadcast to the shape of the result; they give the dtype. The
// numbers are those of JAX up to rounding. Their gradients are those of gamma_gradient.h. Second
// derivatives throw ShapeError. Keys of threefry draw all elements at
// once, until the last one is accepted; other keys draw them one by one, since under vmap a shared
// key would give all examples the same draws.
#pragma once

#include "ir/tensor.h"
#include "ops/random/key.h"

namespace axle::random {

/// Density x^(a - 1) exp(-x) / Gamma(a) for x >= 0, a > 0.
/// Source: Marsaglia and Tsang 2000, "A simple method for generating gamma variables".
Tensor gamma(const Key& key, const Shape& shape, const Tensor& a);
/// The logarithm of a gamma number, exact where the number itself underflows.
Tensor loggamma(const Key& key, const Shape& shape, const Tensor& a);
/// Density proportional to x^(a - 1) (1 - x)^(b - 1) for 0 <= x <= 1.
Tensor beta(const Key& key, const Shape& shape, const Tensor& a, const Tensor& b);
/// Probabilities whose density is proportional to the product of x_i^(alpha_i - 1).
///
/// Shapes: alpha[.., n] -> y[batch.., n]; the leading dims of alpha broadcast to `batch`.
Tensor dirichlet(const Key& key, const Shape& batch, const Tensor& alpha);
/// Sum of the squares of `df` standard normal numbers; df > 0 need not be an integer.
Tensor chisquare(const Key& key, const Shape& shape, const Tensor& df);
/// Student's t distribution with `df` degrees of freedom; t in JAX.
Tensor student_t(const Key& key, const Shape& shape, const Tensor& df);
/// Ratio of two chi-square numbers, each divided by its degrees of freedom; f in JAX.
Tensor f_ratio(const Key& key, const Shape& shape, const Tensor& numerator_df,
               const Tensor& denominator_df);
/// Density proportional to exp(-|x|^p).
Tensor generalized_normal(const Key& key, const Shape& shape, const Tensor& p);
/// Uniform points of the unit ball of the p-norm in `dim` dims; p is a scalar.
///
/// Shape of the result: batch.., dim.
Tensor ball(const Key& key, const Shape& batch, int64_t dim, const Tensor& p);

}  // namespace axle::random
