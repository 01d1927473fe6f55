#include "config/carry.h"

#include <gmock/gmock.h>

#include "config/register.h"
#include "config/walk.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A role whose classes go around each other.
class Motor {
 public:
  using Role = Motor;
  struct Dims {};
};
class Slow final : public Motor {
 public:
  struct Config {
    double speed = 1;
    double gear = 1;
    static constexpr auto kFormerNames = std::to_array<FormerName>({{"ratio", "gear"}});
    AXLE_CONFIG(Slow, speed, gear)
  };
  Slow(const Config&, const Dims&, const Scope&) {}
};
class Fast final : public Motor {
 public:
  struct Config {
    double speed = 100;
    AXLE_CONFIG(Fast, speed)
  };
  Fast(const Config&, const Dims&, const Scope&) {}
};
class Guarded final : public Motor {
 public:
  struct Config {
    Child<Motor> inner = Slow::Config{};
    double limit = 5;
    AXLE_CONFIG(Guarded, inner, limit)
  };
  Guarded(const Config&, const Dims&, const Scope&) {}
};
/// Goes around others at half their speed.
class Halved final : public Motor {
 public:
  struct Config {
    std::optional<Child<Motor>> body = {};
    AXLE_CONFIG(Halved, body)
  };
  Halved(const Config&, const Dims&, const Scope&) {}
};
AXLE_REGISTER(Slow)
AXLE_REGISTER(Fast)
AXLE_REGISTER(Guarded)
AXLE_REGISTER(Halved)

// Fast motors have no gear: it becomes a part of their speed.
const CarryRule kMotorCarry(typeid(Motor), "", [](const AnyConfig& old, const ConfigType& next) {
  auto* const slow = old.get_if<Slow::Config>();
  if (!slow || next.name != "Fast") return;
  slow->speed *= slow->gear;
  slow->gear = 1;
});
const CarryRule kGuardedCarry(typeid(Guarded), "inner", nullptr);
const CarryRule kHalvedCarry(typeid(Halved), "body", [](const AnyConfig& old, const ConfigType&) {
  if (auto* const slow = old.get_if<Slow::Config>()) slow->speed /= 2;
});

template <class To>
Carried carry(const AnyConfig& from, To& to, const std::vector<std::string>& set_fields = {}) {
  AnyConfig next = AnyConfig::of(to);
  const Carried out = carry_over(from, next, set_fields);
  to = *next.get_if<To>();
  return out;
}
AnyConfig slow() { return AnyConfig::of(Slow::Config{.speed = 3, .gear = 4}); }

TEST(CarryRule, AClassGoesAroundTheOldOne) {
  Guarded::Config to;
  const Carried report = carry(slow(), to);
  EXPECT_EQ(to.inner.get_if<Slow>()->gear, 4);
  EXPECT_THAT(report.carried, ElementsAre("inner"));
  EXPECT_THAT(report.dropped, IsEmpty());
  // A place that was set is kept.
  to = {.inner = Fast::Config{}};
  EXPECT_THAT(carry(slow(), to).carried, IsEmpty());
  to = {};
  carry(AnyConfig::of(Fast::Config{.speed = 7}), to, {"inner"});
  EXPECT_NE(to.inner.get_if<Slow>(), nullptr);
}

TEST(CarryRule, AdaptsTheOldOneAndLeavesTheOriginal) {
  Halved::Config to;
  const AnyConfig from = slow();
  carry(from, to);
  EXPECT_EQ(to.body->get_if<Slow>()->speed, 1.5);
  EXPECT_EQ(from.get_if<Slow::Config>()->speed, 3);
}

TEST(CarryRule, FieldsComeFromTheInnermostAndAreAdaptedByTheRole) {
  Guarded::Config guarded;
  carry(slow(), guarded);
  Halved::Config around;
  carry(AnyConfig::of(guarded), around);
  ASSERT_NE(around.body->get_if<Guarded>(), nullptr);
  Fast::Config to;
  const Carried report = carry(AnyConfig::of(around), to);
  EXPECT_EQ(to.speed, 12) << "the gear is in the speed";
  EXPECT_THAT(report.carried, ElementsAre("speed"));
  EXPECT_THAT(report.dropped, ElementsAre("limit")) << "the gear went into the speed";
}

/// Motors that are equal but for whether their fields may or must be set.
class Plain final : public Motor {
 public:
  struct Config {
    double speed = 7;
    Positive<int64_t> size = 8;
    Child<Motor> body = {};
    AXLE_CONFIG(Plain, speed, size, body)
  };
  Plain(const Config&, const Dims&, const Scope&) {}
};
class Maybe final : public Motor {
 public:
  struct Config {
    std::optional<double> speed = 9;
    std::optional<int64_t> size = {};
    std::optional<Child<Motor>> body = {};
    AXLE_CONFIG(Maybe, speed, size, body)
  };
  Maybe(const Config&, const Dims&, const Scope&) {}
};
class Asks final : public Motor {
 public:
  struct Config {
    Required<double> speed = REQUIRED;
    Required<AtLeast<int64_t, 5>> size = REQUIRED;
    Required<Child<Motor>> body = REQUIRED;
    AXLE_CONFIG(Asks, speed, size, body)
  };
  Asks(const Config&, const Dims&, const Scope&) {}
};
AXLE_REGISTER(Plain)
AXLE_REGISTER(Maybe)
AXLE_REGISTER(Asks)

AnyConfig fast_plain() {
  return AnyConfig::of(Plain::Config{.speed = 2, .size = 3, .body = Fast::Config{.speed = 4}});
}

TEST(CarryOver, OptionalAndRequiredTakeThePlainValue) {
  Maybe::Config maybe;
  EXPECT_THAT(carry(fast_plain(), maybe).carried, ElementsAre("speed", "size", "body"));
  EXPECT_EQ(maybe.speed, 2);
  EXPECT_EQ(maybe.size, 3);
  EXPECT_EQ(maybe.body->get_if<Fast>()->speed, 4);
  Asks::Config asks;
  const Carried report = carry(fast_plain(), asks);
  EXPECT_THAT(report.carried, ElementsAre("speed", "body"));
  EXPECT_THAT(report.dropped, ElementsAre("size")) << "out of the new range";
  EXPECT_EQ(asks.speed, 2.0);
  EXPECT_FALSE(asks.size.has_value());
  EXPECT_EQ(asks.body->get_if<Fast>()->speed, 4);
}

TEST(CarryOver, ThePlainFieldTakesWhatIsSet) {
  Plain::Config to;
  const Maybe::Config maybe{.speed = 2, .size = 3, .body = Fast::Config{.speed = 4}};
  EXPECT_THAT(carry(AnyConfig::of(maybe), to).carried, ElementsAre("speed", "size", "body"));
  EXPECT_EQ(to.speed, 2);
  EXPECT_EQ(to.size, 3);
  EXPECT_EQ(to.body.get_if<Fast>()->speed, 4);
  to = {};
  const Asks::Config asks{.speed = 5.0, .size = 6, .body = Fast::Config{}};
  EXPECT_THAT(carry(AnyConfig::of(asks), to).carried, ElementsAre("speed", "size", "body"));
  EXPECT_EQ(to.size, 6);
  Maybe::Config next;
  carry(AnyConfig::of(asks), next);
  EXPECT_EQ(next.size, 6) << "from Required into optional";
}

TEST(CarryOver, AFieldMayBeKeptByItsFormerName) {
  Slow::Config to;
  EXPECT_THAT(carry(slow(), to, {"ratio"}).carried, ElementsAre("speed"));
  EXPECT_EQ(to.gear, 1);
}

TEST(CarryOver, WhatIsNotSetLeavesTheDefault) {
  Plain::Config to;
  const Carried report = carry(AnyConfig::of(Maybe::Config{.speed = {}}), to);
  EXPECT_EQ(to.speed, 7);
  EXPECT_EQ(to.size, 8);
  EXPECT_THAT(report.carried, IsEmpty());
  EXPECT_THAT(report.dropped, ElementsAre("body")) << "the only one without a default";
  Maybe::Config maybe;
  EXPECT_THAT(carry(AnyConfig::of(Asks::Config{}), maybe).carried, IsEmpty());
  EXPECT_EQ(maybe.speed, 9);
  EXPECT_THAT(carry(AnyConfig::of(Plain::Config{}), maybe, {"body"}).dropped, IsEmpty());
  EXPECT_FALSE(maybe.body) << "an empty slot does not become one that must be set";
}

TEST(CarryOver, NoneIsAValueToAFieldThatMayBeNone) {
  Maybe::Config to;
  EXPECT_THAT(carry(AnyConfig::of(Maybe::Config{.speed = {}}), to).carried,
              ElementsAre("speed", "size", "body"));
  EXPECT_FALSE(to.speed);
}

}  // namespace
}  // namespace axle
