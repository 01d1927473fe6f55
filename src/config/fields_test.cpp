#include "config/fields.h"

#include <gmock/gmock.h>

#include <limits>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

static_assert(!std::is_convertible_v<int, Child<Norm>>);
static_assert(std::is_same_v<Child<Source>::Options, NoFields>);

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

static_assert(std::is_same_v<detail::FunctorSignature<Scaled>, int64_t(int64_t)>);

TEST(Fn, CallsFunctorsAndFunctions) {
  const Tower::Config cfg{};
  EXPECT_EQ(cfg.hidden_dim(3), 8);
  Fn<int64_t(int64_t)> fn = {"twice", &twice};
  EXPECT_EQ(fn(3), 6);
  EXPECT_EQ(fn.name(), "twice");
  fn = Fixed{.dim = 11};
  EXPECT_EQ(fn(3), 11);
  EXPECT_EQ(fn.name(), "Fixed");
  EXPECT_EQ(error_of([] { Fn<int64_t(int64_t)>()(3); }),
            "a function of signature long (long) was called before it was set");
}

TEST(Fn, PutRefusesAnotherSignature) {
  Fn<int64_t(int64_t)> fn = Fixed{.dim = 11};
  EXPECT_EQ(error_of([&] { fn.put_as(typeid(int64_t(int64_t)), AnyConfig::of(Axis{})); }),
            "expected a function of signature long (long), got Axis");
  EXPECT_EQ(fn(3), 11) << "the slot keeps what it had";
  fn.put_as(typeid(int64_t(int64_t)), AnyConfig::of(Scaled{.scale = 2}));
  EXPECT_EQ(fn(3), 6);
}

TEST(Fn, HoldsAFunctorOrANamedFunction) {
  Fn<int64_t(int64_t)> fn = Fixed{.dim = 11};
  EXPECT_TRUE(fn.functor());
  fn = Fn<int64_t(int64_t)>("twice", &twice);
  EXPECT_FALSE(fn.functor());
  fn.clear();
  EXPECT_FALSE(fn);
  EXPECT_EQ(fn.name(), "");
}

static_assert(std::is_convertible_v<int, Required<int64_t>> &&
              !std::is_convertible_v<const char*, Required<int64_t>>);

TEST(Required, ThrowsUntilSet) {
  Required<int64_t> n = REQUIRED;
  EXPECT_FALSE(n.has_value());
  EXPECT_EQ(error_of([&] { n.get(); }),
            "a REQUIRED field was read before it was set; check_complete() names all that are "
            "unset");
  EXPECT_THROW(static_cast<void>(n + 1), ConfigError);
  n = 4;
  EXPECT_EQ(n * 2, 8);
  const Required<Child<Norm>> child = Scale::Config{.factor = 7};
  EXPECT_EQ(child->get_if<Scale>()->factor, 7);
}

TEST(Required, OfANumberWithARangeIsThePlainNumber) {
  const Required<Positive<int64_t>> n = 3;
  const int64_t plain = n;
  EXPECT_EQ(plain, 3);
}

TEST(Required, ItsSlotClearsIt) {
  Required<std::string> name = std::string("a");
  EXPECT_EQ(name->size(), 1u);
  name.slot().reset();
  EXPECT_FALSE(name.has_value());
}

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
  const auto number = [](const Bounds& b) { return range_text(b, false); };
  const auto integer = [](const Bounds& b) { return range_text(b, true); };
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
    return error_of([&] { parse_leaf<FractionBelowOne>(text); });
  };
  EXPECT_EQ(parse_leaf<FractionBelowOne>("0.5"), 0.5);
  EXPECT_EQ(error("1"), "expected a number of at least 0 and below 1, got '1'");
  EXPECT_EQ(error("nan"), "expected a number of at least 0 and below 1, got 'nan'");
  EXPECT_EQ(error_of([] { parse_leaf<Positive<int64_t>>("0"); }),
            "expected an integer of at least 1, got '0'");
}

TEST(FitsDevice, ZeroAndNormalNumbersOf32BitsFit) {
  using Limits = std::numeric_limits<float>;
  for (const double v : {0.0, -0.0, 1.0, -1e38, double{Limits::min()}, double{Limits::max()}})
    EXPECT_TRUE(fits_device(v)) << v;
  for (const double v : {1e-39, -1e-300, 3.5e38, double{Limits::denorm_min()}})
    EXPECT_FALSE(fits_device(v)) << v;
}

TEST(NamedMap, KeysAreNamesOfFiles) {
  const std::string expected =
      "expected a name of 1 to 100 letters, digits, '_', '-' and '.', not beginning with '.', got ";
  for (const std::string good : {"a", "a.b", "A_b-9", "7"}) EXPECT_EQ(NameOrder::problem(good), "");
  EXPECT_EQ(NameOrder::problem(std::string(100, 'a')), "");
  EXPECT_EQ(NameOrder::problem(""), expected + "''");
  EXPECT_EQ(NameOrder::problem(".."), expected + "'..'");
  EXPECT_EQ(NameOrder::problem("a/b"), expected + "'a/b'");
  EXPECT_EQ(NameOrder::problem("a\n"), expected + "'a\\x0a'");
  EXPECT_NE(NameOrder::problem(std::string(101, 'a')), "");
}

TEST(NamedMap, OrdersItsKeysAsTexts) {
  const NamedMap<int> map = {{"b", 1}, {"a10", 2}, {"a2", 3}};
  std::string keys;
  for (const auto& [key, value] : map) keys += key + " ";
  EXPECT_EQ(keys, "a10 a2 b ");
}

}  // namespace
}  // namespace axle::example
