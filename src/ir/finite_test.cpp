#include "ir/finite.h"

#include <gtest/gtest.h>

#include <limits>

namespace axle {
namespace {

TEST(Finite, FindsOneBadNumberWhereverItStands) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::kBF16, DType::kF32, DType::kF64}) {
    const double largest = dtype == DType::kF64 ? 1e308 : 3e38;
    for (const int64_t size : {0, 1, 7, 100}) {
      EXPECT_TRUE(all_finite(HostTensor::full({size}, -largest, dtype)));
      EXPECT_TRUE(all_finite(HostTensor::full({size}, 1e-45, dtype)));
    }
    for (const double bad : {kInf, -kInf, std::numeric_limits<double>::quiet_NaN()}) {
      for (size_t i : {0, 50, 99}) {
        HostTensor f64 = HostTensor::ones({100}, DType::kF64);
        f64.values<double>()[i] = bad;
        EXPECT_FALSE(all_finite(f64.astype(dtype))) << to_text(dtype) << " " << bad << " " << i;
      }
    }
  }
  EXPECT_TRUE(all_finite(HostTensor::full({3}, -1, DType::kI32)));
  EXPECT_TRUE(all_finite(HostTensor::full({3}, 4294967295.0, DType::kU32)));
}

TEST(Finite, NamesTheTensor) {
  const HostTensor good = HostTensor::ones({2});
  EXPECT_EQ(first_non_finite({{"a", good}, {"b", good}}), std::nullopt);
  EXPECT_EQ(first_non_finite(
                {{"a", good}, {"b", HostTensor({1}, {std::numeric_limits<float>::infinity()})}}),
            "b");
}

}  // namespace
}  // namespace axle
