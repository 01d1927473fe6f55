// Config structs by themselves: AXLE_CONFIG, Child, Fn, Required.
#include <gmock/gmock.h>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

// Configs at namespace scope are built before main, in any order of files.
const Tower::Config kBeforeMain{.model_dim = 3,
                                .norm = Twice::Config{.inner = Shift::Config{.by = 4}}};

struct Pair {
  int a = 1;
  std::vector<int> b = {};
  std::map<std::string, Child<Norm>> c = {};
  std::optional<Fn<int64_t(int64_t)>> d = {};
  std::string e = {};
  Required<std::vector<int>> f = REQUIRED;
  Axis g = {};
};
static_assert(detail::has_fields<Pair, 7>());
static_assert(!detail::has_fields<Pair, 6>());
static_assert(!detail::has_fields<Pair, 8>());
static_assert(detail::has_fields<NoOptions, 0>());

static_assert(Configures<Scale::Config> && Configures<Axis> && !Configures<Scale>);
static_assert(std::is_aggregate_v<Tower::Config>);
static_assert(!std::is_convertible_v<int, Child<Norm>>);
static_assert(std::is_same_v<detail::FunctorSignature<Scaled>::type, int64_t(int64_t)>);
static_assert(std::is_same_v<Child<Source>::Options, NoOptions>);
static_assert(std::is_convertible_v<int, Required<int64_t>> &&
              !std::is_convertible_v<const char*, Required<int64_t>>);

TEST(Config, FieldsAreDescribed) {
  const ConfigType& type = Shift::Config::config_type();
  EXPECT_EQ(type.name, "Shift");
  EXPECT_EQ(type.role->name, "Norm");
  EXPECT_THAT(type.role->inputs, testing::ElementsAre("x"));
  EXPECT_EQ(type.role->dims().fields[0].name, "input_dim");
  EXPECT_EQ(*type.owner, typeid(Shift));
  ASSERT_EQ(type.fields.size(), 3u);
  EXPECT_EQ(type.fields[1].name, "factor");
  EXPECT_EQ(type.fields[1].offset, offsetof(Shift::Config, factor));
  EXPECT_EQ(*type.fields[2].ops->type, typeid(std::optional<int64_t>));
  EXPECT_EQ(Scale::Config::config_type().doc, "x -> factor * input_dim * x");
  EXPECT_EQ(Axis::config_type().role, nullptr);
}

TEST(Config, BuildsByRole) {
  EXPECT_EQ(kBeforeMain.norm.build({.input_dim = 1}, {.path = "n"})->apply(1), 9);
  const Child<Norm> low{Scale::Config{.factor = 3}, {.dtype = Precision::kLow}};
  const std::unique_ptr<Norm> norm = low.build({.input_dim = 10}, {.path = "tower/norm"});
  EXPECT_EQ(norm->apply(1), -30) << "dims and slot options reach the constructor";
  EXPECT_EQ(norm->path, "tower/norm");
}

TEST(Config, EmptyChildDoesNotBuild) {
  EXPECT_EQ(error_of([] { Child<Norm>().build({.input_dim = 1}, {.path = "tower/norm"}); }),
            "tower/norm: REQUIRED but not set: a Norm");
}

TEST(Config, ChildCopiesAreDeep) {
  Child<Norm> a = Scale::Config{.factor = 1};
  Child<Norm> b = a;
  b.get_if<Scale>()->factor = 9;
  EXPECT_EQ(a.get_if<Scale>()->factor, 1);
  EXPECT_EQ(a.get_if<Shift>(), nullptr);
  a = std::move(b);
  EXPECT_EQ(a.get_if<Scale>()->factor, 9);
}

TEST(Config, ChildRefusesAnotherRole) {
  Child<Norm> child = Scale::Config{};
  EXPECT_THROW(child.put(AnyConfig::of(Lines::Config{})), ConfigError);
  EXPECT_THROW(child.put(AnyConfig::of(Axis{})), ConfigError);
  EXPECT_NE(child.get_if<Scale>(), nullptr);
}

TEST(Config, RequiredThrowsUntilSet) {
  Required<int64_t> n = REQUIRED;
  EXPECT_FALSE(n.has_value());
  EXPECT_THROW(n.get(), ConfigError);
  EXPECT_THROW(static_cast<void>(n + 1), ConfigError);
  n = 4;
  EXPECT_EQ(n * 2, 8);
  const Required<Child<Norm>> child = Scale::Config{.factor = 7};
  EXPECT_EQ(child->get_if<Scale>()->factor, 7);
}

TEST(Config, FnCallsFunctorsAndFunctions) {
  const Tower::Config cfg{};
  EXPECT_EQ(cfg.hidden_dim(3), 8);
  Fn<int64_t(int64_t)> fn = {"twice", &twice};
  EXPECT_EQ(fn(3), 6);
  EXPECT_EQ(fn.name(), "twice");
  fn = Fixed{.dim = 11};
  EXPECT_EQ(fn(3), 11);
  EXPECT_EQ(fn.name(), "Fixed");
  EXPECT_THROW(Fn<int64_t(int64_t)>()(3), ConfigError);
}

TEST(Config, FieldNamedTwiceIsAnError) {
  const int at = 0;
  const void* const places[] = {&at, &at};
  const TypeOps* const ops[] = {&kOps<int>, &kOps<int>};
  EXPECT_THROW(detail::make_fields("a, a", &at, places, ops), ConfigError);
}

}  // namespace
}  // namespace axle::example
