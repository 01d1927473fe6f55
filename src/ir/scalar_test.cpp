#include <gtest/gtest.h>

#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(),
                  kLeast = std::numeric_limits<int64_t>::min();
constexpr uint64_t kMostUnsigned = std::numeric_limits<uint64_t>::max();

TEST(Scalar, KeepsEveryInteger) {
  for (const int64_t v :
       {kLeast, kLeast + 1, int64_t{-1}, int64_t{0}, (int64_t{1} << 53) + 1, kMost - 1, kMost}) {
    EXPECT_EQ(Scalar(v).as<int64_t>(), v);
    EXPECT_EQ(Scalar(v).text(), std::to_string(v));
    EXPECT_EQ(HostTensor::full({2}, v, DType::kI64), HostTensor({2}, {v, v}));
    EXPECT_EQ(HostTensor::scalar(v).element(0).as<int64_t>(), v);
  }
  for (const uint64_t v :
       {uint64_t{0}, (uint64_t{1} << 63) + 1, kMostUnsigned - 1, kMostUnsigned}) {
    EXPECT_EQ(Scalar(v).as<uint64_t>(), v);
    EXPECT_EQ(Scalar(v).text(), std::to_string(v));
    EXPECT_EQ(HostTensor::scalar(v).element(0).as<uint64_t>(), v);
  }
  EXPECT_EQ(HostTensor::scalar(kMost).text(), "i64[] {9223372036854775807}");
}

TEST(Scalar, WritesTheFewestDigits) {
  for (const double v :
       {0.1, 1.0, -0.0, 1e10, 1e-8, 1e300, 1.0 / 3, 0x1p-1074, 0x1.fffffffffffffp1023}) {
    EXPECT_EQ(std::strtod(Scalar(v).text().c_str(), nullptr), v);
  }
  EXPECT_EQ(Scalar(0.1).text(), "0.1");
  EXPECT_EQ(Scalar(1.0).text(), "1");
  EXPECT_EQ(Scalar(-0.0).text(), "-0");
  EXPECT_EQ(Scalar(1e10).text(), "10000000000");
  EXPECT_EQ(Scalar(1.0 / 3).text(), "0.3333333333333333");
}

TEST(Scalar, FitsItsDtypeOrNot) {
  struct Row {
    Scalar value;
    DType dtype;
    bool fits;
  };
  for (const auto& [value, dtype, fits] : {
           Row{kMost, DType::kI64, true},
           {kLeast, DType::kI64, true},
           {kMost, DType::kU64, true},
           {-1, DType::kU64, false},
           {-1, DType::kU32, false},
           {kMostUnsigned, DType::kI64, false},
           {kMostUnsigned, DType::kU64, true},
           {int64_t{1} << 31, DType::kI32, false},
           {int64_t{1} << 31, DType::kU32, true},
           {int64_t{1} << 32, DType::kU32, false},
           {0x1p63, DType::kI64, false},
           {-0x1p63, DType::kI64, true},
           {0x1p63, DType::kU64, true},
           {0x1p64, DType::kU64, false},
           {0x1p31, DType::kI32, false},
           {0x1p31 - 1, DType::kI32, true},
           {0.5, DType::kI32, false},
           {-0.5, DType::kU32, false},
           {std::nan(""), DType::kI64, false},
           {INFINITY, DType::kI64, false},
           {0.5, DType::kF32, true},
           {INFINITY, DType::kBF16, true},
           {kMost, DType::kF32, true},
           {true, DType::kPred, true},
           {0, DType::kPred, true},
           {1.0, DType::kPred, true},
           {2, DType::kPred, false},
           {-1, DType::kPred, false},
           {0.5, DType::kPred, false},
           {std::nan(""), DType::kPred, false},
       }) {
    EXPECT_EQ(value.fits(dtype), fits) << value.text() << " in " << name_of(dtype);
  }
}

}  // namespace
}  // namespace axle
