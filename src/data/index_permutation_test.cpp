#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/random.h"

namespace axle {
namespace {

std::vector<int64_t> whole(int64_t n, uint64_t seed) {
  const IndexPermutation order(n, seed);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(order.at(i));
  return out;
}

TEST(IndexPermutation, HasEveryNumberOnce) {
  for (const int64_t n : {1, 2, 3, 7, 63, 64, 65, 1000, 4096, 4097, 100'003}) {
    for (const uint64_t seed : {0, 1, 99}) {
      std::vector<int64_t> sorted = whole(n, seed);
      std::ranges::sort(sorted);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], i) << n;
    }
  }
}

TEST(IndexPermutation, DependsOnTheSeedAlone) {
  EXPECT_EQ(whole(1000, 5), whole(1000, 5));
  EXPECT_NE(whole(1000, 5), whole(1000, 6));
}

TEST(IndexPermutation, WorksForHugeNumbersOfDocuments) {
  const int64_t n = (int64_t{1} << 61) + 12345;
  const IndexPermutation order(n, 3);
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(order.at(n - 1 - i), 0);
    EXPECT_LT(order.at(n - 1 - i), n);
  }
}

// Each number is at each index equally often, and neighbours lie as far apart as at random.
TEST(IndexPermutation, LooksDrawnAtRandom) {
  constexpr int64_t kN = 10, kSeeds = 20'000;
  std::vector<int64_t> counts(kN * kN);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<int64_t> order = whole(kN, seed);
    for (size_t i = 0; i < kN; ++i) ++counts[i * kN + static_cast<size_t>(order[i])];
  }
  double chi_squared = 0;
  constexpr double kExpected = kSeeds / kN;
  for (const int64_t count : counts)
    chi_squared += (static_cast<double>(count) - kExpected) *
                   (static_cast<double>(count) - kExpected) / kExpected;
  EXPECT_LT(chi_squared, 81 + 5 * std::sqrt(2 * 81.0));

  const int64_t n = 50'000;
  const std::vector<int64_t> order = whole(n, 1);
  double sum = 0;
  for (size_t i = 1; i < order.size(); ++i) sum += std::abs(double(order[i] - order[i - 1]));
  EXPECT_NEAR(sum / static_cast<double>(n) / static_cast<double>(n), 1.0 / 3, 0.005);
}

}  // namespace
}  // namespace axle
