// Keys u32[2] of threefry: what random.h does with them, in the mode of prng_options(). Functions
// throw ShapeError for keys of other kinds.
#pragma once

#include "ir/tensor.h"
#include "ops/random/random.h"
#include "ops/random/random_part.h"

namespace axle::random {

/// Returns an array of n keys.
Key threefry_split(const Key& key, int64_t n);
/// Hashes a number of two words, which are u32 scalars.
Key threefry_fold_in(const Key& key, const Tensor& high, const Tensor& low);
/// Returns random bits as random::bits does. Throws ShapeError if the original mode would need more
/// than 2^32 - 1 words.
Tensor threefry_bits(const Key& key, int width, const Shape& shape);
/// Returns the part of threefry_bits(key, width, part.whole). The mode must not be the original
/// one.
Tensor threefry_bits(const Key& key, int width, const Part& part);

}  // namespace axle::random
