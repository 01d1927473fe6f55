// Sums and products of sizes that a user gave, which may not fit 64 bits.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace axle {

/// a * b; none where it does not fit.
inline std::optional<int64_t> checked_product(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// The product of all; 1 of none, 0 as soon as one is 0; none where it does not fit.
inline std::optional<int64_t> checked_product(std::span<const int64_t> sizes) {
  std::optional<int64_t> out = 1;
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    if (out) out = checked_product(*out, size);
  }
  return out;
}

/// a + b of sizes; the largest number where it does not fit.
inline int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

/// a * b of sizes; the largest number where it does not fit.
inline int64_t saturating_product(int64_t a, int64_t b) {
  return checked_product(a, b).value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace axle
