// Numbers that look random and that bench/peers computes alike, so that peers start from the same
// weights and data.
#pragma once

#include "ir/host_tensor.h"

namespace axle {

/// Returns number `i` of leaf `leaf`, in [0, 1).
inline float fraction(uint32_t leaf, uint32_t i) {
  uint32_t x = i * 2654435761U + (leaf + 1) * 2246822519U;
  x ^= x >> 16;
  x *= 2246822519U;
  x ^= x >> 13;
  x *= 3266489917U;
  x ^= x >> 16;
  return static_cast<float>(x >> 8) / 16777216.0F;
}

/// Returns f32 numbers in [-bound, bound).
inline HostTensor uniform(uint32_t leaf, const Shape& shape, double bound) {
  HostTensor out(Type{DType::kF32, shape});
  const auto values = out.values<float>();
  for (uint32_t i = 0; i < values.size(); ++i)
    values[i] = (fraction(leaf, i) * 2 - 1) * static_cast<float>(bound);
  return out;
}

}  // namespace axle
