#include "config/fields/fn.h"

#include <gmock/gmock.h>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

static_assert(std::is_same_v<detail::FunctorSignature<Scaled>::type, int64_t(int64_t)>);

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

}  // namespace
}  // namespace axle::example
