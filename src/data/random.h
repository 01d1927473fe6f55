// Random numbers for the order of data: the same on every machine. They are derived from seeds; no
// generator state is carried along.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace axle {

/// Returns a 64-bit hash of the pair: derives the seed of a part from the seed of the whole.
uint64_t mix_seed(uint64_t seed, uint64_t part);

/// SplitMix64: a full-period generator with 64 bits of state.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// Returns a uniform number in 0 .. n - 1, n > 0.
  uint64_t below(uint64_t n);
  /// Returns a uniform number in [0, 1), in steps of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

/// Returns 0 .. n - 1 in an order that depends only on the seed.
std::vector<int64_t> permutation(int64_t n, uint64_t seed);

/// A pseudo-random permutation: a Feistel network over the next power of 4, whose values of n or
/// more are permuted once more. The same on every machine. permutation() in data/random.h is drawn
/// evenly from all orders, but has them in memory.
///
/// Source: Black and Rogaway 2002, "Ciphers with Arbitrary Finite Domains", section 3.
class IndexPermutation {
 public:
  IndexPermutation(int64_t n, uint64_t seed);
  /// Returns the number at an index, both in 0 .. n - 1.
  int64_t at(int64_t place) const;

 private:
  static constexpr size_t kRounds = 6;
  uint64_t n_;
  int half_bits_;
  std::array<uint64_t, kRounds> keys_;
};

}  // namespace axle
