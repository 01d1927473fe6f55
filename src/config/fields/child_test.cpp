#include "config/fields/child.h"

#include <gmock/gmock.h>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

static_assert(!std::is_convertible_v<int, Child<Norm>>);
static_assert(std::is_same_v<Child<Source>::Options, NoOptions>);

// Configs at namespace scope are built before main, in any order of files.
const Tower::Config kBeforeMain{.model_dim = 3,
                                .norm = Twice::Config{.inner = Shift::Config{.by = 4}}};

TEST(Child, BuildsByRole) {
  EXPECT_EQ(kBeforeMain.norm.build({.input_dim = 1}, {.path = "n"})->apply(1), 9);
  const Child<Norm> low{Scale::Config{.factor = 3}, {.dtype = Precision::kLow}};
  const std::unique_ptr<Norm> norm = low.build({.input_dim = 10}, {.path = "tower/norm"});
  EXPECT_EQ(norm->apply(1), -30) << "dims and slot options reach the constructor";
  EXPECT_EQ(norm->path, "tower/norm");
}

TEST(Child, DoesNotBuildEmpty) {
  EXPECT_EQ(error_of([] { Child<Norm>().build({.input_dim = 1}, {.path = "tower/norm"}); }),
            "tower.norm: REQUIRED but not set: a Norm");
}

TEST(Child, CopiesAreDeep) {
  Child<Norm> a = Scale::Config{.factor = 1};
  Child<Norm> b = a;
  b.get_if<Scale>()->factor = 9;
  EXPECT_EQ(a.get_if<Scale>()->factor, 1);
  EXPECT_EQ(a.get_if<Shift>(), nullptr);
  a = std::move(b);
  EXPECT_EQ(a.get_if<Scale>()->factor, 9);
}

TEST(Child, RefusesAnotherRole) {
  Child<Norm> child = Scale::Config{};
  EXPECT_EQ(error_of([&] { child.put(AnyConfig::of(Lines::Config{})); }),
            "expected a Norm, got Lines, which is a Source");
  EXPECT_EQ(error_of([&] { child.put(AnyConfig::of(Axis{})); }),
            "expected a Norm, got Axis, which is no module");
  EXPECT_NE(child.get_if<Scale>(), nullptr);
}

TEST(Child, KeepsItsOptionsWhenAnotherConfigIsPut) {
  Child<Norm> child{Scale::Config{}, {.dtype = Precision::kLow}};
  child.put(AnyConfig::of(Shift::Config{.by = 2}));
  EXPECT_EQ(child.get_if<Shift>()->by, 2);
  EXPECT_EQ(child.options.dtype, Precision::kLow);
}

TEST(Child, ChecksItsOwnNumbersWhenItBuilds) {
  const Child<Norm> child = Bounded::Config{.rate = 1.5, .every = 0};
  EXPECT_EQ(error_of([&] { child.build({.input_dim = 1}, {.path = "tower/norm"}); }),
            "tower.norm.rate: expected a number of at least 0 and below 1, got 1.5\n"
            "tower.norm.every: expected an integer of at least 1, got 0");
}

TEST(AnyConfig, KnowsItsExactType) {
  AnyConfig config = AnyConfig::of(LoudScale::Config{.factor = 4});
  EXPECT_EQ(config.get_if<LoudScale::Config>()->factor, 4);
  EXPECT_EQ(config.get_if<Scale::Config>(), nullptr) << "not even the config of a base class";
  const AnyConfig moved = std::move(config);
  EXPECT_TRUE(moved);
  EXPECT_FALSE(config) << "moved away";
  EXPECT_EQ(AnyConfig::with_defaults(moved.type()).get_if<LoudScale::Config>()->factor, 2);
}

}  // namespace
}  // namespace axle::example
