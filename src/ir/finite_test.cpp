#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/host_tensor.h"

namespace axle {
namespace {

constexpr DType kFloats[] = {DType::kF8E4M3FN, DType::kF8E5M2, DType::kF16, DType::kBF16,
                             DType::kF32,      DType::kF64,    DType::kC64, DType::kC128};

// Blocks of numbers are looked at together, and what is left of a tensor one by one.
TEST(Finite, FindsOneBadNumberAtAnyIndex) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const DType dtype : kFloats) {
    const double largest = dtype == DType::kF64 ? 1e308 : 57344;
    for (const int64_t size : {0, 1, 7, 100, 4095, 4096, 9000}) {
      if (dtype != DType::kF8E4M3FN) {  // would be NaN
        EXPECT_TRUE(all_finite(HostTensor::full({size}, -largest, dtype)));
      }
      EXPECT_TRUE(all_finite(HostTensor::full({size}, 1e-45, dtype)));
      for (const double bad : {kInf, -kInf, std::numeric_limits<double>::quiet_NaN()}) {
        for (const int64_t i : {0, 3, 50, 511, 512, 1024, 4095, 4096, 8191, 8192, 8999}) {
          if (i >= size) continue;
          HostTensor values = HostTensor::ones({size}, dtype);
          const HostTensor one = HostTensor::full({1}, bad, dtype);
          std::ranges::copy(one.bytes(), values.bytes().subspan(one.bytes().size() * i).begin());
          EXPECT_FALSE(all_finite(values)) << to_text(dtype) << " " << bad << " " << i;
        }
      }
    }
  }
  EXPECT_TRUE(all_finite(HostTensor::full({5000}, -1, DType::kI32)));
  EXPECT_TRUE(all_finite(HostTensor::full({5000}, 4294967295.0, DType::kU32)));
}

// All patterns of the small floats, alone and in a block of equal ones.
TEST(Finite, KnowsEachSmallFloat) {
  for (const DType dtype : {DType::kF8E4M3FN, DType::kF8E5M2, DType::kF16, DType::kBF16}) {
    const size_t size = size_bytes(dtype);
    for (uint32_t bits = 0; bits >> (8 * size) == 0; ++bits) {
      HostTensor one(Type{dtype, {1}});
      std::memcpy(one.bytes().data(), &bits, size);
      const bool is_finite = std::isfinite(one.at(0));
      ASSERT_EQ(all_finite(one), is_finite) << to_text(dtype) << " " << bits;
      if (bits % 251 != 0 && is_finite) continue;
      HostTensor block(Type{dtype, {4096}});
      for (size_t i = 0; i < 4096; ++i) std::memcpy(block.bytes().data() + i * size, &bits, size);
      ASSERT_EQ(all_finite(block), is_finite) << to_text(dtype) << " " << bits;
    }
  }
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
