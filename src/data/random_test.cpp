#include "data/random.h"

#include <gtest/gtest.h>

#include <numeric>

namespace axle {
namespace {

TEST(Random, SequenceMatchesPublishedSplitMix64) {
  SplitMix64 random(1234567);  // published test vector of SplitMix64
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
}

TEST(Random, BelowIsUniform) {
  SplitMix64 random(7);
  std::vector<int> counts(10);
  for (int i = 0; i < 100000; ++i) ++counts[random.below(10)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Random, PermutationsHoldEveryNumberOnceAndDependOnTheSeed) {
  for (const int64_t n : {0, 1, 2, 1000}) {
    auto order = permutation(n, 3);
    EXPECT_EQ(order, permutation(n, 3));
    std::ranges::sort(order);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(order[i], i);
  }
  EXPECT_NE(permutation(1000, 3), permutation(1000, 4));
  EXPECT_NE(mix_seed(1, 2), mix_seed(2, 1));
}

}  // namespace
}  // namespace axle
