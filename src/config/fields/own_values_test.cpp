#include "config/fields/own_values.h"

#include <gmock/gmock.h>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

std::string error_in(AnyConfig config) {
  return error_of([&] { check_own_values(config, "model"); });
}

TEST(CheckOwnValues, NamesEachNumberThatIsOutOfRange) {
  EXPECT_EQ(error_in(AnyConfig::of(Bounded::Config{.rate = 0.5, .every = 1})), "no error");
  EXPECT_EQ(error_in(AnyConfig::of(Bounded::Config{.rate = -1, .every = -2})),
            "model.rate: expected a number of at least 0 and below 1, got -1.0\n"
            "model.every: expected an integer of at least 1, got -2");
}

TEST(CheckOwnValues, RefusesNumbersThatDevicesCannotHold) {
  EXPECT_EQ(error_in(AnyConfig::of(Bounded::Config{.rate = 1e-40})),
            "model.rate: expected a number that fits into 32 bits, got 1e-40");
}

TEST(CheckOwnValues, LeavesTheConfigsOfChildrenToTheirBuild) {
  EXPECT_EQ(error_in(AnyConfig::of(Twice::Config{.inner = Bounded::Config{.rate = 7}})),
            "no error");
}

TEST(CheckOwnValues, ChecksTheKeysOfMaps) {
  Tower::Config tower;
  tower.heads["a/b"] = Scale::Config{};
  EXPECT_EQ(error_in(AnyConfig::of(tower)),
            "model.heads: expected a name of 1 to 100 letters, digits, '_', '-' and '.', not "
            "beginning with '.', got 'a/b'");
}

}  // namespace
}  // namespace axle::example
