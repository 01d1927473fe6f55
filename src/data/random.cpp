#include "data/random.h"

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

}  // namespace axle
