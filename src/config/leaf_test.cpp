#include "config/leaf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "config/fields.h"
#include "testing/error_of.h"

namespace axle {
namespace {

template <class T>
std::string parse_error(std::string_view text) {
  return error_of([&] { parse_leaf<T>(text); });
}

TEST(Codec, NumbersRoundTripExactly) {
  for (const double v : {0.0, -0.0, 0.1, 1.0 / 3, 4.0, 1e22, 1e-37, 3.4028234663852886e38}) {
    const double back = parse_leaf<double>(leaf_text<double>(v));
    EXPECT_EQ(back, v);
    EXPECT_EQ(std::signbit(back), std::signbit(v));
  }
  for (const float v : {0.1f, 1e-6f, 1.17549435e-38f, 3.4028235e38f, 16777217.0f}) {
    EXPECT_EQ(parse_leaf<float>(leaf_text<float>(v)), v);
  }
}

TEST(Codec, NumbersAreShort) {
  EXPECT_EQ(leaf_text<float>(1e-6f), "1e-06");
  EXPECT_EQ(leaf_text<float>(0.1f), "0.1");
  EXPECT_EQ(leaf_text<double>(4), "4.0");
  EXPECT_EQ(leaf_text<double>(-0.0), "-0.0");
  EXPECT_EQ(parse_leaf<double>("+3"), 3);
}

TEST(Codec, IntegersAreChecked) {
  EXPECT_EQ(parse_leaf<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_leaf<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(leaf_text<uint64_t>(UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(parse_error<int64_t>("abc"), "expected an integer, got 'abc'");
  EXPECT_EQ(parse_error<int64_t>("1.5"), "expected an integer, got '1.5'");
  EXPECT_EQ(parse_error<int64_t>(""), "expected an integer, got ''");
  EXPECT_EQ(parse_error<int64_t>("-"), "expected an integer, got '-'");
  EXPECT_EQ(parse_error<int8_t>("128"), "expected an integer from -128 to 127, got '128'");
  EXPECT_EQ(parse_error<uint8_t>("-1"), "expected an integer from 0 to 255, got '-1'");
  EXPECT_EQ(parse_error<uint8_t>("99999999999999999999"),
            "expected an integer from 0 to 255, got '99999999999999999999'");
}

TEST(Codec, NumbersAreFinite) {
  for (const char* text : {"nan", "-nan", "NaN", "inf", "+inf", "-inf", "infinity", "nan(1)"}) {
    EXPECT_EQ(parse_error<double>(text), fmt::format("expected a finite number, got '{}'", text));
    EXPECT_EQ(parse_error<float>(text), fmt::format("expected a finite number, got '{}'", text));
  }
}

// A device would take these values for zero or infinite.
TEST(Codec, NumbersFitTheDevice) {
  for (const char* text :
       {"1e-60", "-1e-60", "1e-300", "1e-39", "1e39", "-1e39", "1e300", "1e999"}) {
    const std::string expected =
        fmt::format("expected a number that fits into 32 bits, got '{}'", text);
    EXPECT_EQ(parse_error<double>(text), expected);
    EXPECT_EQ(parse_error<float>(text), expected);
  }
  EXPECT_EQ(parse_leaf<double>("0.0"), 0);
}

TEST(Codec, NumbersAreWrittenInOneWay) {
  for (const char* text : {"", " 5", "5 ", "+-5", "-+5", "--5", "++5", "0x10", "0x1p3", "1_000",
                           "5e", "1,5", "\t5", "."})
    EXPECT_NE(parse_error<double>(text), "no error") << text;
  for (const char* text : {" 5", "5 ", "+-5", "-+5", "0x10", "1_000", "5.", "5.0", "1e3", "\t5"})
    EXPECT_NE(parse_error<int64_t>(text), "no error") << text;
}

TEST(Codec, RangesAreKept) {
  using B1 = FractionBelowOne;
  EXPECT_EQ(parse_leaf<B1>("0"), 0);
  EXPECT_EQ(parse_leaf<B1>("0.999"), 0.999);
  EXPECT_EQ(parse_error<B1>("1"), "expected a number of at least 0 and below 1, got '1'");
  EXPECT_EQ(parse_error<B1>("nan"), "expected a number of at least 0 and below 1, got 'nan'");
  EXPECT_EQ(parse_error<B1>("-1e-300"),
            "expected a number of at least 0 and below 1, got '-1e-300'");
  EXPECT_EQ(parse_error<Positive<float>>("0"), "expected a number above 0, got '0'");
  EXPECT_EQ(parse_error<Positive<int64_t>>("0"), "expected an integer of at least 1, got '0'");
  EXPECT_EQ(parse_error<Positive<int64_t>>("x"), "expected an integer, got 'x'");
  EXPECT_EQ(parse_error<Fraction>("1.5"), "expected a number from 0 to 1, got '1.5'");
  using Vocabulary = AtLeast<int64_t, 257>;
  EXPECT_EQ(parse_leaf<Vocabulary>("257"), 257);
}

TEST(Codec, OtherErrors) {
  EXPECT_EQ(parse_error<bool>("yes"), "expected true or false, got 'yes'");
  EXPECT_EQ(parse_error<double>("1e5x"), "expected a number, got '1e5x'");
  EXPECT_EQ(parse_error<float>("1e39"), "expected a number that fits into 32 bits, got '1e39'");
  EXPECT_EQ(parse_leaf<std::string>("a'b"), "a'b");
}

}  // namespace
}  // namespace axle
