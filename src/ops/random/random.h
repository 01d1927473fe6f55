// Random numbers from keys. The same key gives the same numbers on every backend, mesh and
// sharding if it is a key of threefry, the default; prng.h says what other keys give.
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
#include "ops/random/prng.h"
#include "ops/random/random_choice.h"
#include "ops/random/random_distributions.h"
#include "ops/random/random_floats.h"

namespace axle::random {

/// Returns the words of a seed's key, as an argument of a program: 0 and the lower 32 bits of the
/// seed, u32[2]; twice these words for the kinds whose keys are u32[4]. JAX does the same unless
/// x64 is on. So seeds that differ by a multiple of 2^32 are one seed. random_key gives a key for
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
