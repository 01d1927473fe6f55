// Small floats: published values of their layouts, and every bit pattern there and back.
#include <gtest/gtest.h>

#include <limits>

#include "ir/dtype.h"

namespace axle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
void expect_bits(float value, uint32_t bits) {
  EXPECT_EQ(T(value).bits, bits) << value;
}

template <class T>
void expect_every_number_comes_back() {
  for (uint32_t i = 0; i < 1u << (8 * sizeof(T)); ++i) {
    T x;
    x.bits = static_cast<decltype(x.bits)>(i);
    const auto v = static_cast<float>(x);
    if (std::isnan(v)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(T(v)))) << i;
    } else {
      EXPECT_EQ(T(v).bits, i) << v;
    }
  }
}

TEST(SmallFloat, EveryNumberComesBack) {
  expect_every_number_comes_back<F16>();
  expect_every_number_comes_back<F8E4M3FN>();
  expect_every_number_comes_back<F8E5M2>();
}

TEST(SmallFloat, HalfPrecision) {
  expect_bits<F16>(1.0f, 0x3c00);
  expect_bits<F16>(-2.0f, 0xc000);
  expect_bits<F16>(65504.0f, 0x7bff);      // the largest
  expect_bits<F16>(65519.0f, 0x7bff);      // still nearer to it
  expect_bits<F16>(65520.0f, 0x7c00);      // half way to 65536: infinity
  expect_bits<F16>(0x1p-24f, 0x0001);      // the smallest
  expect_bits<F16>(0x1p-25f, 0x0000);      // half of it: a tie, to even
  expect_bits<F16>(0x1.8p-25f, 0x0001);    // above the tie
  expect_bits<F16>(0x1p-14f, 0x0400);      // the smallest normal number
  expect_bits<F16>(1 + 0x1p-11f, 0x3c00);  // ties go to even
  expect_bits<F16>(1 + 0x3p-11f, 0x3c02);
  expect_bits<F16>(-kInfinity, 0xfc00);
  EXPECT_TRUE(std::isnan(static_cast<float>(F16(kNan))));
}

TEST(SmallFloat, EightBitsWithoutInfinity) {
  expect_bits<F8E4M3FN>(448.0f, 0x7e);  // the largest
  expect_bits<F8E4M3FN>(464.0f, 0x7e);  // half way to 480, which would be NaN: a tie, to even
  expect_bits<F8E4M3FN>(465.0f, 0x7f);
  expect_bits<F8E4M3FN>(kInfinity, 0x7f);
  expect_bits<F8E4M3FN>(-kInfinity, 0xff);
  expect_bits<F8E4M3FN>(0x1p-9f, 0x01);  // the smallest
  expect_bits<F8E4M3FN>(-0.0f, 0x80);
  EXPECT_TRUE(std::isnan(static_cast<float>(F8E4M3FN(kNan))));
}

TEST(SmallFloat, EightBitsWithInfinity) {
  expect_bits<F8E5M2>(57344.0f, 0x7b);  // the largest
  expect_bits<F8E5M2>(61440.0f, 0x7c);  // half way to 65536: infinity
  expect_bits<F8E5M2>(61439.0f, 0x7b);
  expect_bits<F8E5M2>(0x1p-16f, 0x01);
  EXPECT_TRUE(std::isnan(static_cast<float>(F8E5M2(kNan))));
}

}  // namespace
}  // namespace axle
