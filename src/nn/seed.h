// Seeds of PRNG keys.
#pragma once

#include <cstdint>

#include "config/fields/ranged.h"

namespace axle {

/// What a key keeps of a seed (random::key_words): 32 bits. Seeds beyond them would be others.
inline constexpr Bounds kSeedBounds = {.min = 0, .max = 4294967295};
using Seed = Ranged<int64_t, kSeedBounds>;

}  // namespace axle
