#include "config/carry.h"

#include <gmock/gmock.h>

#include "config/config.h"

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

}  // namespace
}  // namespace axle
