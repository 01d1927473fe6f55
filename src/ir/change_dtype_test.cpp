#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "ir/host_tensor.h"
#include "testing/error_of.h"

namespace axle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The first of several, with its sign; what was infinite before is another matter.
TEST(ChangeDType, FindsTheFirstNumberThatBecomesInfinite) {
  struct Case {
    DType from, to;
    double largest, too_large;
  };
  for (const Case& at :
       {Case{DType::kF32, DType::kF16, 65519, 65520}, Case{DType::kBF16, DType::kF16, 65280, 65536},
        Case{DType::kF32, DType::kBF16, 3.394e38, 3.4e38},
        Case{DType::kF64, DType::kBF16, 3.394e38, 1e300},
        Case{DType::kF64, DType::kF32, 3.4e38, -3.5e38},
        Case{DType::kF32, DType::kF8E4M3FN, 448, 1000}}) {
    HostTensor values = HostTensor::full({5000}, at.largest, at.from);
    EXPECT_EQ(first_too_large(values, values.astype(at.to)), std::nullopt);
    const auto set = [&](size_t i, double number) {
      const HostTensor one = HostTensor::full({1}, number, at.from);
      std::ranges::copy(one.bytes(), values.bytes().subspan(i * one.bytes().size()).begin());
    };
    set(7, kInf);
    set(8, std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(first_too_large(values, values.astype(at.to)), std::nullopt) << name_of(at.to);
    set(4999, -at.too_large);
    const auto found = first_too_large(values, values.astype(at.to));
    ASSERT_TRUE(found) << name_of(at.to);
    EXPECT_EQ(*found, values.at(4999));
    set(4100, at.too_large);
    EXPECT_EQ(first_too_large(values, values.astype(at.to)), values.at(4100));
  }
}

TEST(ChangeDType, TheErrorNamesTheNumberAndADTypeThatHoldsIt) {
  const auto error = [](double number, DType from, DType to) {
    return error_of<DataError>(
        [&] { checked_astype(HostTensor::full({2}, number, from), to, "a.weight"); });
  };
  EXPECT_EQ(error(70000, DType::kF32, DType::kF16),
            "a.weight: expected magnitudes up to 65504 for f16, got 70000; bf16 and f32 hold it");
  EXPECT_EQ(error(-3.4e38, DType::kF32, DType::kBF16),
            "a.weight: expected magnitudes up to 3.38953e+38 for bf16, got -3.4e+38; f32 holds it");
  EXPECT_EQ(error(1e300, DType::kF64, DType::kF32),
            "a.weight: expected magnitudes up to 3.40282e+38 for f32, got 1e+300; f64 alone holds "
            "it");
  EXPECT_EQ(checked_astype(HostTensor::full({2}, 65504, DType::kF32), DType::kF16, "").at(1),
            65504);
}

}  // namespace
}  // namespace axle
