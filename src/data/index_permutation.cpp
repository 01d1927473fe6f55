#include "data/index_permutation.h"

#include <algorithm>
#include <bit>

#include "data/random.h"

namespace axle {

IndexPermutation::IndexPermutation(int64_t n, uint64_t seed) : n_(static_cast<uint64_t>(n)) {
  constexpr int kLeastBits = 3;  // with fewer, the rounds have too few values to mix
  half_bits_ =
      std::max((static_cast<int>(std::bit_width(n_ > 0 ? n_ - 1 : 0)) + 1) / 2, kLeastBits);
  for (size_t i = 0; i < kRounds; ++i) keys_[i] = mix_seed(seed, i);
}

int64_t IndexPermutation::at(int64_t place) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  auto value = static_cast<uint64_t>(place);
  do {
    uint64_t left = value >> half_bits_, right = value & mask;
    for (const uint64_t key : keys_) {
      const uint64_t mixed = left ^ (mix_seed(key, right) & mask);
      left = right;
      right = mixed;
    }
    value = left << half_bits_ | right;
  } while (value >= n_);
  return static_cast<int64_t>(value);
}

}  // namespace axle
