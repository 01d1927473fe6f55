#include "data/random.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace axle {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;

uint64_t finalize(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t mix_seed(uint64_t seed, uint64_t part) {
  return finalize(finalize(seed + kGolden) ^ (part + kGolden));
}

uint64_t SplitMix64::next() { return finalize(state_ += kGolden); }

uint64_t SplitMix64::below(uint64_t n) {
  // The high half of the product is uniform except for a few values, which are drawn again.
  while (true) {
    const auto product = static_cast<unsigned __int128>(next()) * n;
    if (static_cast<uint64_t>(product) >= -n % n) return static_cast<uint64_t>(product >> 64);
  }
}

std::vector<int64_t> permutation(int64_t n, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  SplitMix64 random(seed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

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
