// Random numbers from keys. The same key yields the same numbers on every backend, mesh and
// sharding if it is a key of threefry, the default; key.h says what other keys yield.
//
// A key is a handle (key.h): words and their generator. Never draw twice from one key: split it, or
// fold in a number. Functions throw ShapeError for an array of keys: vmap draws with each. Keys,
// bits, uniform, bernoulli, randint and permutation agree bit by bit with JAX. Functions that use
// logarithms or the error function agree within 4 ulp.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/host_tensor.h"
#include "ir/tensor.h"
#include "ops/random/key.h"
#include "ops/random/random_floats.h"

namespace axle::random {

/// Integers in [low, high), nearly uniform; exactly uniform if high - low is a power of two.
/// Returns `low` if the interval is empty. Throws ShapeError unless dtype is an integer dtype that
/// can represent all these integers.
Tensor randint(const Key& key, const Shape& shape, int64_t low, int64_t high,
               DType dtype = DType::kI32);
/// The same with bounds that broadcast to `shape` and set the dtype.
Tensor randint(const Key& key, const Shape& shape, const Tensor& low, const Tensor& high);
/// The integers 0 .. n-1 in random order, i32.
Tensor permutation(const Key& key, int64_t n);
/// The slices of x along `axis` in random order.
Tensor permutation(const Key& key, const Tensor& x, int64_t axis = 0);
/// x with the elements of each line along `axis` in a random order of their own.
Tensor independent_permutation(const Key& key, const Tensor& x, int64_t axis = 0);

enum class Replacement : uint8_t { kWith, kWithout };
/// Draws indices along `axis` with probabilities softmax(logits), i32. The result has the dims
/// `batch` of draws, then the dims of logits without `axis`. Throws ShapeError if more indices than
/// there are would be drawn without replacement.
Tensor categorical(const Key& key, const Tensor& logits, int64_t axis = -1, const Shape& batch = {},
                   Replacement replacement = Replacement::kWith);
/// Draws from the indices 0 .. n-1 with equal probabilities, i32. Throws ShapeError if there are
/// none to draw from, or if more than n are drawn without replacement.
Tensor choice(const Key& key, int64_t n, const Shape& shape,
              Replacement replacement = Replacement::kWith);
/// Draws from the indices 0 .. n-1 with the probabilities p[n], i32. p is a float tensor that sums
/// to 1.
Tensor choice(const Key& key, const Tensor& p, const Shape& shape,
              Replacement replacement = Replacement::kWith);

// Samplers made from uniform, normal and exponential numbers, in closed form. Those that reject
// draws are in transform/random/gamma.h and transform/random/counts.h.
//
// Parameters are float tensors that broadcast to `shape`; they set the dtype and have gradients.

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

/// Returns the words of a seed's key, as an argument of a program: 0 and the lower 32 bits of the
/// seed, u32[2]; twice these words for the kinds whose keys are u32[4]. JAX does the same unless
/// x64 is on. So seeds that differ by a multiple of 2^32 are one seed. random_key returns a key for
/// traced code.
HostTensor key_words(int64_t seed, PrngImpl impl = PrngImpl::kThreefry2x32);
/// Returns n independent keys of the same kind, an array of shape [n]. Do not use `key` afterwards.
Key split(const Key& key, int64_t n = 2);
/// Returns the keys of split(key, n) one by one.
std::vector<Key> split_each(const Key& key, int64_t n = 2);
/// Returns one of 2^32 child keys, chosen by `number`.
Key fold_in(const Key& key, uint32_t number);
/// fold_in with a computed integer scalar. All bits of a 64-bit number count.
Key fold_in(const Key& key, const Tensor& number);

/// Returns `width` (8, 16, 32 or 64) random bits in each element: u64 for 64, else u32.
Tensor bits(const Key& key, int width, const Shape& shape);
/// Returns elements of an unsigned dtype, u8 to u64, all of whose bits are random.
Tensor bits(const Key& key, const Shape& shape, DType dtype);

}  // namespace axle::random
