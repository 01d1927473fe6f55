// What AXLE_CONFIG describes of a struct.
#include <gmock/gmock.h>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

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
static_assert(detail::has_fields<NoFields, 0>());

static_assert(Configures<Scale::Config> && Configures<Axis> && !Configures<Scale>);
static_assert(std::is_aggregate_v<Tower::Config>);

TEST(Config, FieldsAreDescribed) {
  const ConfigType& type = Shift::Config::config_type();
  EXPECT_EQ(type.name, "Shift");
  EXPECT_EQ(type.role->name, "Norm");
  EXPECT_THAT(type.role->inputs, ::testing::ElementsAre("x"));
  EXPECT_EQ(type.role->dims().fields[0].name, "input_dim");
  EXPECT_EQ(*type.owner, typeid(Shift));
  ASSERT_EQ(type.fields.size(), 3u);
  EXPECT_EQ(type.fields[1].name, "factor");
  EXPECT_EQ(type.fields[1].offset, offsetof(Shift::Config, factor));
  EXPECT_EQ(*type.fields[2].ops->type, typeid(std::optional<int64_t>));
  EXPECT_EQ(Scale::Config::config_type().doc, "x -> factor * input_dim * x");
  EXPECT_EQ(Axis::config_type().role, nullptr);
}

TEST(Config, FieldNamedTwiceIsAnError) {
  const int at = 0;
  const void* const places[] = {&at, &at, &at};
  const TypeOps* const ops[] = {nullptr, &kOps<int>, &kOps<int>};
  EXPECT_EQ(error_of([&] { detail::make_fields("Pair", "a, a", places, ops); }),
            "AXLE_CONFIG(Pair, ...): expected each field once, got 'a' twice; name the one that is "
            "left out instead");
}

}  // namespace
}  // namespace axle::example
