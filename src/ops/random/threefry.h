// The generators of random bits: Threefry and RBG.
#pragma once

#include <cstdint>
#include <utility>

#include "ir/tensor.h"
#include "ops/random/key.h"
#include "ops/random/random_floats.h"

namespace axle {

// Threefry-2x32 with 20 rounds: the counter-based generator of all random numbers.
//
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.2.

/// Returns the two random words of the counter (x0, x1) under the key (k0, k1).
std::pair<uint32_t, uint32_t> threefry2x32(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1);
/// Elementwise threefry2x32 of u32 tensors. The counters x0 and x1 have one shape; the key words
/// are scalars or have this shape too. Throws ShapeError for other shapes and dtypes.
std::pair<Tensor, Tensor> threefry2x32(const Tensor& k0, const Tensor& k1, const Tensor& x0,
                                       const Tensor& x1);

}  // namespace axle

namespace axle {

// Keys u32[4] of rbg, the generator of the platform: what random.h does with them. The functions of
// keys throw ShapeError for keys of threefry.

/// Random bits from the platform's generator, in a dtype u32 or u64. CPU and GPU use Philox-4x32
/// with 10 rounds: the first two words are its key and the upper half of its first 128-bit counter,
/// the other two are the lower half.
/// Under vmap over keys, the first key draws for all examples, as in JAX.
///
/// Throws ShapeError unless the key is u32[4].
/// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.3.
Tensor rng_bit_generator(const Tensor& key, const Shape& shape, DType dtype = DType::kU32);

namespace random {

/// Returns an array of n keys.
Key rbg_split(const Key& key, int64_t n);
/// Hashes a number of two words, which are u32 scalars.
Key rbg_fold_in(const Key& key, const Tensor& high, const Tensor& low);
/// Returns random bits as random::bits does.
Tensor rbg_bits(const Key& key, int width, const Shape& shape);

}  // namespace random
}  // namespace axle
