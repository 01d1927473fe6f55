// Random numbers from keys. The same key gives the same numbers on every backend, mesh and
// sharding.
//
// A key is a tensor u32[2]. Never draw twice from one key: split it, or fold in a number. Keys,
// bits, uniform, bernoulli, randint and permutation agree bit by bit with JAX's threefry in its
// partitionable form. Functions that use logarithms or the error function agree within 4 ulp.
#pragma once

#include <cstdint>

#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle::random {

/// Returns the key of a seed, u32[2]: the upper and the lower 32 bits of the seed. JAX does the
/// same if x64 is on. Without x64 it keeps only the lower 32 bits: its seed -1 is 2^32 - 1 here.
HostTensor key(int64_t seed);
/// Returns n independent keys, u32[n, 2]. Do not use `key` afterwards.
Tensor split(const Tensor& key, int64_t n = 2);
/// Returns the keys of split(key, n) as n tensors.
Values split_each(const Tensor& key, int64_t n = 2);
/// Returns one of 2^32 child keys, chosen by `number`.
Tensor fold_in(const Tensor& key, uint32_t number);
/// fold_in with a computed integer scalar. All bits of a 64-bit number count.
Tensor fold_in(const Tensor& key, const Tensor& number);

/// Returns `width` (8, 16, 32 or 64) random bits in each element: u64 for 64, else u32.
Tensor bits(const Tensor& key, int width, const Shape& shape);
/// Floats in [low, high). bf16 has 128 different values (8 random bits), as in JAX.
Tensor uniform(const Tensor& key, const Shape& shape, DType dtype = DType::kF32, double low = 0,
               double high = 1);
/// Uniform floats in [low, high), where `low` and `high` broadcast to `shape` and give the dtype.
Tensor uniform(const Tensor& key, const Shape& shape, const Tensor& low, const Tensor& high);
/// Normal distribution with mean 0 and standard deviation 1.
Tensor normal(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);
/// Standard normal distribution, truncated to the open interval (low, high).
Tensor truncated_normal(const Tensor& key, const Shape& shape, double low, double high,
                        DType dtype = DType::kF32);
/// True with probability p.
Tensor bernoulli(const Tensor& key, const Shape& shape, double p = 0.5);
/// True with the probabilities p (a float tensor that broadcasts to `shape`).
Tensor bernoulli(const Tensor& key, const Shape& shape, const Tensor& p);
/// 1 or -1 with equal probabilities.
Tensor rademacher(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-x) for x >= 0.
Tensor exponential(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-(x + exp(-x))).
Tensor gumbel(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-|x|) / 2.
Tensor laplace(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);

/// Integers in [low, high), nearly uniform; exactly uniform if high - low is a power of two.
/// Returns `low` if the interval is empty. Throws ShapeError unless dtype is i32, i64, u32 or u64
/// and can represent all these integers.
Tensor randint(const Tensor& key, const Shape& shape, int64_t low, int64_t high,
               DType dtype = DType::kI32);
/// The integers 0 .. n-1 in random order, i32.
Tensor permutation(const Tensor& key, int64_t n);
/// The slices of x along `axis` in random order.
Tensor permutation(const Tensor& key, const Tensor& x, int64_t axis = 0);
/// Draws indices along `axis` with probabilities softmax(logits), i32. The result has the dims
/// `batch` of independent draws, then the dims of logits without `axis`.
Tensor categorical(const Tensor& key, const Tensor& logits, int64_t axis = -1,
                   const Shape& batch = {});

enum class Replacement : uint8_t { kWith, kWithout };
/// Draws from the indices 0 .. n-1 with equal probabilities, i32. Throws ShapeError if more than n
/// are drawn without replacement.
Tensor choice(const Tensor& key, int64_t n, const Shape& shape,
              Replacement replacement = Replacement::kWith);
/// Draws from the indices 0 .. n-1 with the probabilities p[n], i32. p is a float tensor that sums
/// to 1.
Tensor choice(const Tensor& key, const Tensor& p, const Shape& shape,
              Replacement replacement = Replacement::kWith);

}  // namespace axle::random
