#include "config/fields/ranged.h"

#include <gmock/gmock.h>

#include <limits>

#include "config/fields/device_number.h"
#include "testing/error_of.h"

namespace axle {
namespace {

static_assert(std::is_convertible_v<Positive<int64_t>, int64_t>);
static_assert(Positive<int64_t>::kBounds.contain(1) && !Positive<int64_t>::kBounds.contain(0));
static_assert(Positive<double>::kBounds.contain(1e-30) && !Positive<double>::kBounds.contain(0));
static_assert(NonNegative<double>::kBounds.contain(0) && AtLeast<int64_t, 2>::kBounds.contain(2));
static_assert(Fraction::kBounds.contain(1) && !FractionBelowOne::kBounds.contain(1));

TEST(Bounds, NeverContainNanAndInfinity) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double v : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(Bounds{}.contain(v)) << v;
}

TEST(Bounds, AreNamedInWords) {
  const auto number = [](const Bounds& b) { return range_text(b, LeafKind::kNumber); };
  const auto integer = [](const Bounds& b) { return range_text(b, LeafKind::kInteger); };
  EXPECT_EQ(number({}), "a finite number");
  EXPECT_EQ(integer({}), "an integer");
  EXPECT_EQ(integer({.min = 1}), "an integer of at least 1");
  EXPECT_EQ(number({.min = 0, .open_min = true}), "a number above 0");
  EXPECT_EQ(number({.max = 8}), "a number of at most 8");
  EXPECT_EQ(number({.min = 0, .max = 1}), "a number from 0 to 1");
  EXPECT_EQ(number({.min = 0, .max = 1, .open_max = true}), "a number of at least 0 and below 1");
}

TEST(Ranged, RefusesTextOutOfItsRange) {
  const auto error = [](std::string_view text) {
    return error_of([&] { Codec<FractionBelowOne>::parse(text); });
  };
  EXPECT_EQ(Codec<FractionBelowOne>::parse("0.5"), 0.5);
  EXPECT_EQ(error("1"), "expected a number of at least 0 and below 1, got '1'");
  EXPECT_EQ(error("nan"), "expected a number of at least 0 and below 1, got 'nan'");
  EXPECT_EQ(error_of([] { Codec<Positive<int64_t>>::parse("0"); }),
            "expected an integer of at least 1, got '0'");
}

TEST(FitsDevice, ZeroAndNormalNumbersOf32BitsFit) {
  using Limits = std::numeric_limits<float>;
  for (const double v : {0.0, -0.0, 1.0, -1e38, double{Limits::min()}, double{Limits::max()}})
    EXPECT_TRUE(fits_device(v)) << v;
  for (const double v : {1e-39, -1e-300, 3.5e38, double{Limits::denorm_min()}})
    EXPECT_FALSE(fits_device(v)) << v;
}

}  // namespace
}  // namespace axle
