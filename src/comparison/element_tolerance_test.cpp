#include <gmock/gmock.h>

#include <cmath>
#include <complex>

#include "comparison/tensor_comparison.h"
#include "testing/error_of.h"

namespace axle {
namespace {

constexpr float kToleranceNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kToleranceInf = std::numeric_limits<float>::infinity();

HostTensor vector(std::initializer_list<float> values) {
  return HostTensor({std::ssize(values)}, values);
}
ElementDifference compare(const HostTensor& got, const HostTensor& expected,
                          const std::string& tolerance) {
  return compare_elements(got, expected, element_tolerance_from(tolerance), largest_in(expected));
}

TEST(ElementTolerance, TextsRoundTrip) {
  for (const char* text :
       {"1e-05", "bitwise", "rtol=0.001, ulp=4", "atol=0.5", "0", "largest=0.1, atol=0.5"})
    EXPECT_EQ(to_text(element_tolerance_from(text)), text);
  for (const char* text : {"-1", "nan", "rtol", "rtol=x", "rel=1", "1e-5, ulp=3", ""})
    EXPECT_NE(error_of([&] { element_tolerance_from(text); }), "no error") << text;
  EXPECT_EQ(to_text(element_tolerance_from("largest=1e-3")), "0.001");
  EXPECT_EQ(error_of([&] { element_tolerance_from("ulp=1.5"); }),
            "ulp=: expected a whole number of units, got 1.5");
  EXPECT_EQ(error_of([&] { element_tolerance_from("rtol=1, rtol=2"); }),
            "rtol=: expected one limit, got two");
}

TEST(ElementTolerance, EachLimitAllowsItsOwnDifferences) {
  const HostTensor expected = vector({100, 1, 0}), got = vector({100, 1.001f, 0});
  EXPECT_TRUE(compare(got, expected, "1.1e-5").agrees);
  EXPECT_FALSE(compare(got, expected, "9e-6").agrees);
  EXPECT_TRUE(compare(got, expected, "rtol=1.1e-3").agrees);
  EXPECT_FALSE(compare(got, expected, "rtol=9e-4").agrees);
  EXPECT_TRUE(compare(got, expected, "atol=1.1e-3").agrees);
  EXPECT_FALSE(compare(got, expected, "atol=9e-4").agrees);
  EXPECT_TRUE(compare(got, expected, "rtol=1e-9, atol=1.1e-3").agrees);
  const HostTensor next = vector({100, std::nextafter(1.f, 2.f), 0});
  EXPECT_TRUE(compare(next, expected, "ulp=1").agrees);
  EXPECT_FALSE(compare(next, expected, "ulp=0").agrees);
  // The last place is that of the coarser dtype.
  EXPECT_TRUE(compare(vector({1.f + 0x1p-7f}).astype(DType::kBF16), vector({1}), "ulp=1").agrees);
}

TEST(ElementTolerance, BitwiseKnowsSignsOfZeros) {
  EXPECT_TRUE(compare(vector({0, 1}), vector({0, 1}), "bitwise").agrees);
  EXPECT_FALSE(compare(vector({-0.f, 1}), vector({0, 1}), "bitwise").agrees);
  EXPECT_TRUE(compare(vector({-0.f, 1}), vector({0, 1}), "0").agrees);
  EXPECT_TRUE(compare(vector({kToleranceNan}), vector({-kToleranceNan}), "bitwise").agrees);
}

TEST(ElementTolerance, NansAndInfinitiesMustBeAtTheSameElements) {
  EXPECT_TRUE(
      compare(vector({kToleranceNan, kToleranceInf}), vector({kToleranceNan, kToleranceInf}), "0")
          .agrees);
  EXPECT_FALSE(compare(vector({kToleranceNan, 1}), vector({1, 1}), "atol=1e30").agrees);
  EXPECT_FALSE(
      compare(vector({kToleranceInf, 1}), vector({-kToleranceInf, 1}), "atol=1e30").agrees);
  EXPECT_FALSE(compare(vector({1}), vector({kToleranceInf}), "rtol=1").agrees);
}

TEST(ElementTolerance, IntegersMustBeEqual) {
  const HostTensor a({1}, {int64_t{1} << 53}), b({1}, {(int64_t{1} << 53) + 1});
  const ElementDifference d = compare(a, b, "atol=100");
  EXPECT_FALSE(d.agrees);
  EXPECT_EQ(d.max_abs, 1);
  EXPECT_FALSE(compare(HostTensor({1}, {true}), HostTensor({1}, {false}), "atol=100").agrees);
}

TEST(ElementTolerance, NamesTheWorstElement) {
  const HostTensor expected({2, 2}, {100.f, 1.f, 2.f, 3.f}), got({2, 2}, {100.5f, 1.f, 2.f, 3.25f});
  const auto worst = [&](const std::string& tolerance) {
    return worst_text(compare(got, expected, tolerance), got, expected);
  };
  EXPECT_EQ(worst("atol=0.1"), "[0, 0]: 100.5 instead of 100");
  EXPECT_EQ(worst("rtol=0.01"), "[1, 1]: 3.25 instead of 3");
  EXPECT_EQ(worst_text(compare(got, got, "0"), got, got), "");
}

TEST(ElementTolerance, TheWorstElementHasTheDigitsOfItsDtype) {
  const auto worst = [](const HostTensor& got, const HostTensor& expected) {
    return worst_text(compare(got, expected, "0"), got, expected);
  };
  EXPECT_EQ(worst(HostTensor({1}, {(int64_t{1} << 53) + 1}), HostTensor({1}, {int64_t{1} << 53})),
            "[0]: 9007199254740993 instead of 9007199254740992");
  EXPECT_EQ(worst(HostTensor({1}, {1.0}), HostTensor({1}, {1.0 + 0x1p-52})),
            "[0]: 1 instead of 1.0000000000000002");
  EXPECT_EQ(worst(vector({-kToleranceNan}), vector({1})), "[0]: nan instead of 1");
}

TEST(ElementTolerance, ComplexNumbersDifferByTheirParts) {
  using C = std::complex<float>;
  const HostTensor expected({2}, {C(3, 4), C(0, 1)}), got({2}, {C(3, 4), C(0, 1.5f)});
  EXPECT_EQ(largest_in(expected), 5);
  const ElementDifference d = compare(got, expected, "0.09");
  EXPECT_FALSE(d.agrees);
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_EQ(worst_text(d, got, expected), "[1]: 0+1.5i instead of 0+1i");
  EXPECT_TRUE(compare(got, expected, "0.11").agrees);
}

}  // namespace
}  // namespace axle
