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
#pragma once

#include "ir/tensor.h"

namespace axle::random {

/// Returns dx/da of gamma numbers x with parameter a: 0 at x = 0; NaN unless a > 0 and x >= 0.
/// Shapes broadcast. 16-bit floats are computed in f32. Throws ShapeError unless both are floats of
/// one dtype. It has no derivative itself.
Tensor gamma_gradient(const Tensor& a, const Tensor& x);
/// Returns dy/da of the logarithms y of gamma numbers with parameter a, also where exp(y) is 0.
Tensor loggamma_gradient(const Tensor& a, const Tensor& y);

}  // namespace axle::random
