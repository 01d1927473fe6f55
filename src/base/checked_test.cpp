#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/lists.h"

namespace axle {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(CheckedProduct, IsExactOrNone) {
  EXPECT_EQ(checked_product(6, 7), 42);
  EXPECT_EQ(checked_product(kMost, 1), kMost);
  EXPECT_EQ(checked_product(kMost, 2), std::nullopt);
  EXPECT_EQ(checked_product(int64_t{1} << 31, int64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_product(std::vector<int64_t>{}), 1);
  EXPECT_EQ(checked_product(std::vector<int64_t>{2, 3, 4}), 24);
  EXPECT_EQ(checked_product(std::vector<int64_t>{kMost, kMost}), std::nullopt);
  // The product is 0 wherever the 0 stands.
  EXPECT_EQ(checked_product(std::vector<int64_t>{kMost, kMost, 0}), 0);
  EXPECT_EQ(checked_product(std::vector<int64_t>{0, kMost, kMost}), 0);
}

TEST(SaturatingSizes, AreExactOrTheLargestNumber) {
  EXPECT_EQ(saturating_sum(6, 7), 13);
  EXPECT_EQ(saturating_sum(kMost, 0), kMost);
  EXPECT_EQ(saturating_sum(kMost, 1), kMost);
  EXPECT_EQ(saturating_product(6, 7), 42);
  EXPECT_EQ(saturating_product(kMost, 2), kMost);
  EXPECT_EQ(saturating_product(kMost, 0), 0);
}

}  // namespace
}  // namespace axle
