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
#include "ops/random/random_choice.h"
#include "ops/random/random_floats.h"

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

}  // namespace axle::random
