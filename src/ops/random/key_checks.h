// Checks that the functions of random keys share.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ops/random/key.h"

namespace axle::random {

/// Throws ShapeError, naming `op`, for an array of keys, and for a key that is none of these kinds.
void check_key(std::string_view op, const Key& key, std::initializer_list<PrngImpl> kinds);
/// Throws ShapeError, naming `op`, unless `width` is 8, 16, 32 or 64 and no size is negative.
void check_bits(std::string_view op, const Key& key, int width, const Shape& shape);
/// Throws ShapeError, naming `op`, unless both words of a number are u32 scalars.
void check_words(std::string_view op, const Tensor& high, const Tensor& low);

}  // namespace axle::random
