// Samplers of counts by rejection: Poisson, binomial and multinomial.
//
// Parameters are float tensors that broadcast to the shape of the result. The numbers are those of
// JAX, except where rounding decides whether a draw is accepted.
#pragma once

#include "ir/tensor.h"
#include "ops/random/key.h"

namespace axle::random {

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

}  // namespace axle::random
