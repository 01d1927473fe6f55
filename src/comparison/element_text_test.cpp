#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <nlohmann/json.hpp>

#include "comparison/tensor_comparison.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(ElementText, DigitsDistinguishElements) {
  EXPECT_EQ(element_text(HostTensor({2}, {0.1f, -3.f}), 0), "0.100000001");
  EXPECT_EQ(element_text(HostTensor({1}, {0.1}), 0), "0.1");
  EXPECT_EQ(element_text(HostTensor({1}, {std::numeric_limits<uint64_t>::max()}), 0),
            "18446744073709551615");
  using C = std::complex<float>;
  EXPECT_EQ(element_text(HostTensor({1}, {C(1, -2)}), 0), "1-2i");
  EXPECT_EQ(element_text(HostTensor({1}, {C(-kNan, -kNan)}), 0), "nan+nani");
  EXPECT_EQ(tensor_text(HostTensor({3}, {-kNan, -kInf, 1.f}), 2), "f32[3] {nan, -inf, ...}");
  EXPECT_EQ(tensor_text(HostTensor::zeros({0, 2}), 2), "f32[0, 2] {}");
}

TEST(ElementText, JsonHoldsTheExactNumber) {
  EXPECT_EQ(element_json(HostTensor({1}, {0.1f}), 0), Json(static_cast<double>(0.1f)));
  EXPECT_EQ(element_json(HostTensor({1}, {(int64_t{1} << 53) + 1}), 0).dump(), "9007199254740993");
  EXPECT_EQ(element_json(HostTensor({1}, {std::numeric_limits<uint64_t>::max()}), 0).dump(),
            "18446744073709551615");
  EXPECT_EQ(element_json(HostTensor({1}, {true}), 0), Json(true));
  EXPECT_EQ(element_json(HostTensor({2}, {-kNan, -kInf}), 0), Json("nan"));
  EXPECT_EQ(element_json(HostTensor({2}, {-kNan, -kInf}), 1), Json("-inf"));
  using C = std::complex<double>;
  EXPECT_EQ(element_json(HostTensor({1}, {C(1, -2)}), 0).dump(), "[1.0,-2.0]");
}

}  // namespace
}  // namespace axle
