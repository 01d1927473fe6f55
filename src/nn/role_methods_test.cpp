#include <gtest/gtest.h>

#include "nn/layer_role.h"

namespace axle {
namespace {

struct Known {};
struct Unknown {};
constexpr std::string_view kInputs[] = {"x", "y"};
const RoleMethods methods(typeid(Known), {{"first", kInputs}, {"second", {}}});

TEST(RoleMethods, AreFoundByTheRole) {
  const auto found = role_methods(typeid(Known));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "first");
  EXPECT_EQ(found[0].inputs[1], "y");
  EXPECT_TRUE(found[1].inputs.empty());
  EXPECT_TRUE(role_methods(typeid(Unknown)).empty());
}

}  // namespace
}  // namespace axle
