// Samplers that need loops or decompositions.
#pragma once

#include "ir/tensor.h"
#include "ops/random/random.h"

namespace axle::random {

// Samplers of the gamma distribution and of those made from it.
//
// Parameters are float tensors that broadcast to the shape of the result; they give the dtype. The
// numbers are those of JAX up to rounding. Their gradients are those of gamma_gradient. Second
// derivatives throw ShapeError. Keys of threefry draw all elements at once, until the last one is
// accepted; other keys draw them one by one, since under vmap a shared key would give all examples
// the same draws.

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

// The derivative of gamma samples with respect to their parameter, at a fixed quantile: the
// implicit reparametrisation gradient.
//
// With P(a, x), the probability of numbers below x, and its density p = dP/dx, the derivative is
// dx/da = -(dP/da) / p. P is a power series, its complement a continued fraction; both are
// differentiated term by term. For a above 100 (1e4 in f64), x is a series in the standard normal
// quantile of the same probability. The series holds where samples lie, not far outside.
//
// Sources: Figurnov, Mohamed and Mnih 2018, "Implicit reparameterization gradients",
// arXiv 1805.08498, section 4; NIST Digital Library of Mathematical Functions, 8.7.1 and 8.9.2;
// Goldberg and Levine 1946, "Approximate formulas for the percentage points and normalization of t
// and chi-square".

/// Returns dx/da of gamma numbers x with parameter a: 0 at x = 0; NaN unless a > 0 and x >= 0.
/// Shapes broadcast. 16-bit floats are computed in f32. Throws ShapeError unless both are floats of
/// one dtype. It has no derivative itself.
Tensor gamma_gradient(const Tensor& a, const Tensor& x);
/// Returns dy/da of the logarithms y of gamma numbers with parameter a, also where exp(y) is 0.
Tensor loggamma_gradient(const Tensor& a, const Tensor& y);

// Samplers of counts by rejection: Poisson, binomial and multinomial.
//
// Parameters are float tensors that broadcast to the shape of the result. The numbers are those of
// JAX, except where rounding decides whether a draw is accepted.

/// Number of events if `rate` are expected. -1 if the rate is negative, infinite or NaN.
/// Sources: Knuth 1997, "The art of computer programming", volume 2, section 3.4.1; Hormann 1993,
/// "The transformed rejection method for generating Poisson random variables".
Tensor poisson(const Key& key, const Shape& shape, const Tensor& rate, DType dtype = DType::kI32);
/// Number of successes among n trials, each with probability p, in the dtype of p. n has that dtype
/// too. NaN unless n >= 0 and 0 <= p <= 1; infinite if n is.
/// Sources: Devroye 1986, "Non-uniform random variate generation", section X.4; Hormann 1993, "The
/// generation of binomial random variates".
Tensor binomial(const Key& key, const Shape& shape, const Tensor& n, const Tensor& p);
/// Number of times that each of k outcomes occurs in n trials, in the dtype of p.
///
/// Shapes: n[..], p[.., k] -> y[batch.., k]; the leading dims broadcast to `batch`.
Tensor multinomial(const Key& key, const Shape& batch, const Tensor& n, const Tensor& p);

// Samplers of matrices.

/// Matrices with orthonormal columns, or rows if there are fewer of these, all equally likely.
///
/// Shape of the result: batch.., rows, columns. Throws ShapeError unless dtype is f32 or f64.
/// Source: Mezzadri 2007, "How to generate random matrices from the classical compact groups",
/// arXiv math-ph/0609050, section 5.
Tensor orthogonal(const Key& key, const Shape& batch, int64_t rows, int64_t columns,
                  DType dtype = DType::kF32);

}  // namespace axle::random
