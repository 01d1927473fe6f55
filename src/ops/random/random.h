// Random numbers from keys: the same key gives the same numbers, on every backend, mesh and batch
// of shards.
//
// A key is a tensor u32[2]. Never draw twice from one key: split it, or fold in a number. Keys,
// bits, uniform, bernoulli, randint and permutation agree bit by bit with JAX's threefry in its
// partitionable form; what goes through logarithms or the error function agrees within 4 units in
// the last place.
#pragma once

#include <cstdint>

#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle::random {

/// The key of a seed, u32[2]: its upper and its lower 32 bits. (JAX does the same where x64 is on;
/// else it keeps the lower 32 bits alone, so that its seed -1 is 2^32 - 1 here.)
HostTensor key(int64_t seed);
/// n independent keys, u32[n, 2]; the key split is used up.
Tensor split(const Tensor& key, int64_t n = 2);
/// split(key, n), as n tensors.
Values split_each(const Tensor& key, int64_t n = 2);
/// The key of one of 2^32 numbered children.
Tensor fold_in(const Tensor& key, uint32_t number);
/// The same with an integer scalar that is computed; one of 64 bits counts with all of them.
Tensor fold_in(const Tensor& key, const Tensor& number);

/// `width` (8, 16, 32 or 64) random bits each: u64 for 64, else u32.
Tensor bits(const Tensor& key, int width, const Shape& shape);
/// Floats in [low, high). bf16 has 128 different values (8 random bits), as in JAX.
Tensor uniform(const Tensor& key, const Shape& shape, DType dtype = DType::kF32, double low = 0,
               double high = 1);
/// The same between tensors that broadcast to `shape`, in their dtype.
Tensor uniform(const Tensor& key, const Shape& shape, const Tensor& low, const Tensor& high);
/// Mean 0, standard deviation 1.
Tensor normal(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);
/// A normal variable under the condition low <= x <= high.
Tensor truncated_normal(const Tensor& key, const Shape& shape, double low, double high,
                        DType dtype = DType::kF32);
/// True with probability p.
Tensor bernoulli(const Tensor& key, const Shape& shape, double p = 0.5);
/// True with the probabilities p (a float tensor that broadcasts to `shape`).
Tensor bernoulli(const Tensor& key, const Shape& shape, const Tensor& p);
/// 1 or -1.
Tensor rademacher(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-x) for x >= 0.
Tensor exponential(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-(x + exp(-x))).
Tensor gumbel(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-|x|) / 2.
Tensor laplace(const Tensor& key, const Shape& shape, DType dtype = DType::kF32);

/// Integers in [low, high), nearly uniform (exactly so if high - low is a power of two); `low`
/// where the interval is empty. Throws ShapeError unless dtype is i32, i64, u32 or u64 and has them
/// all.
Tensor randint(const Tensor& key, const Shape& shape, int64_t low, int64_t high,
               DType dtype = DType::kI32);
/// 0 .. n-1 in random order, i32.
Tensor permutation(const Tensor& key, int64_t n);
/// The slices of x along `axis` in random order.
Tensor permutation(const Tensor& key, const Tensor& x, int64_t axis = 0);
/// An index along `axis` of the logits, i32, with probability softmax(logits); `batch` dims of
/// independent draws in front.
Tensor categorical(const Tensor& key, const Tensor& logits, int64_t axis = -1,
                   const Shape& batch = {});

enum class Replacement : uint8_t { kWith, kWithout };
/// Indices 0 .. n-1, i32, all equally likely. Throws ShapeError for more than n of them without
/// replacement.
Tensor choice(const Tensor& key, int64_t n, const Shape& shape,
              Replacement replacement = Replacement::kWith);
/// Indices 0 .. p.dim(0)-1 with the probabilities p[n], a float tensor that sums to 1.
Tensor choice(const Tensor& key, const Tensor& p, const Shape& shape,
              Replacement replacement = Replacement::kWith);

}  // namespace axle::random
