// Sums and products of sizes given by the user, which may overflow 64 bits.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace axle {

/// Returns a * b; none on overflow.
inline std::optional<int64_t> checked_product(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// Returns the product of all sizes: 1 for an empty list, 0 if any size is 0; none on overflow.
inline std::optional<int64_t> checked_product(std::span<const int64_t> sizes) {
  std::optional<int64_t> out = 1;
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    if (out) out = checked_product(*out, size);
  }
  return out;
}

/// Returns the product of all sizes; the largest int64_t on overflow.
inline int64_t saturating_product(std::span<const int64_t> sizes) {
  return checked_product(sizes).value_or(std::numeric_limits<int64_t>::max());
}

/// Returns a + b for sizes; the largest int64_t on overflow.
inline int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

/// Returns a * b for sizes; the largest int64_t on overflow.
inline int64_t saturating_product(int64_t a, int64_t b) {
  return checked_product(a, b).value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace axle
