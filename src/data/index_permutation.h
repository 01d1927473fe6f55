// A seeded order of the numbers 0 .. n - 1 that takes no memory.
#pragma once

#include <array>
#include <cstdint>

namespace axle {

/// A pseudo-random permutation: a Feistel network over the next power of 4, whose values of n or
/// more are permuted once more. The same on every machine. permutation() in data/random.h is drawn
/// evenly from all orders, but has them in memory.
///
/// Source: Black and Rogaway 2002, "Ciphers with Arbitrary Finite Domains", section 3.
class IndexPermutation {
 public:
  IndexPermutation(int64_t n, uint64_t seed);
  /// Returns the number at a place, both in 0 .. n - 1.
  int64_t at(int64_t place) const;

 private:
  static constexpr size_t kRounds = 6;
  uint64_t n_;
  int half_bits_;
  std::array<uint64_t, kRounds> keys_;
};

}  // namespace axle
