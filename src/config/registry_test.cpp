#include "config/registry.h"

#include <gmock/gmock.h>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Registry, NamesByRoleAndSignature) {
  EXPECT_THAT(names_of(typeid(Norm)),
              ElementsAre("Bounded", "LoudScale", "Scale", "Shift", "Twice"));
  EXPECT_THAT(names_of(typeid(int64_t(int64_t))),
              ElementsAre("Fixed", "Scaled", "thrice", "twice"));
  EXPECT_THAT(names_of(typeid(Axis)), ElementsAre());
}

TEST(Registry, TwoOfOneNameIsAnError) {
  EXPECT_EQ(error_of([] { register_config(Scale::Config::config_type()); }),
            "AXLE_REGISTER: expected one Norm called 'Scale', got two");
  EXPECT_THAT(error_of([] { register_config(Scaled::config_type()); }),
              HasSubstr("called 'Scaled', got two"));
  const auto add = [](std::string_view name) {
    register_function(typeid(int64_t(int64_t)), name, reinterpret_cast<AnyFunction>(&twice));
  };
  EXPECT_THAT(error_of([&] { add("twice"); }), HasSubstr("called 'twice', got two"));
  EXPECT_THAT(error_of([&] { add("Fixed"); }), HasSubstr("called 'Fixed', got two"));
  EXPECT_NO_THROW(register_config(Axis::config_type())) << "plain structs have no name to clash";
}

TEST(Registry, MakesDefaultsByName) {
  EXPECT_EQ(AnyConfig::with_defaults(find_config_type(typeid(Norm), "Scale"))
                .get_if<Scale::Config>()
                ->factor,
            2);
  EXPECT_EQ(error_of([] { find_config_type(typeid(Norm), "Scael"); }),
            "no Norm is called 'Scael'; did you mean 'Scale'? (classes: Bounded, LoudScale, Scale, "
            "Shift, Twice)");
}

TEST(Registry, FindsOverAllRoles) {
  EXPECT_EQ(&find_config_type("Shift"), &Shift::Config::config_type());
  EXPECT_EQ(&find_config_type("Norm.Shift"), &Shift::Config::config_type());
  EXPECT_EQ(error_of([] { find_config_type("Shfit"); }),
            "no class is called 'Shfit'; did you mean 'Shift'?");
  EXPECT_THAT(error_of([] { find_config_type("Source.Shift"); }),
              HasSubstr("no class is called 'Source.Shift'"));
}

TEST(Registry, AmbiguousNamesSayTheirRoles) {
  static const ConfigType again = [] {
    ConfigType t = Lines::Config::config_type();
    t.name = "Twice";
    return t;
  }();
  register_config(again);
  EXPECT_EQ(error_of([] { find_config_type("Twice"); }).substr(0, 47),
            "'Twice': expected the name of one class, got on");
  EXPECT_THAT(error_of([] { find_config_type("Twice"); }), HasSubstr("Norm.Twice"));
  EXPECT_THAT(error_of([] { find_config_type("Twice"); }), HasSubstr("Source.Twice"));
  EXPECT_EQ(&find_config_type("Source.Twice"), &again);
}

TEST(Registry, FunctionsByName) {
  EXPECT_EQ(function_named<int64_t(int64_t)>("thrice", "function")(5), 15);
  EXPECT_THAT(error_of([] { function_named<int64_t(int64_t)>("thirce", "recipe"); }),
              HasSubstr("no recipe is called 'thirce'; did you mean 'thrice'? (recipes: "));
}

TEST(Registry, Listings) {
  std::vector<std::string> roles;
  for (const Listing& listing : list_roles()) {
    roles.push_back(listing.name);
    if (listing.name == "Norm") {
      EXPECT_EQ(listing.classes[2]->doc, "x -> factor * input_dim * x");
    }
  }
  EXPECT_THAT(roles, ::testing::IsSupersetOf({"Model", "Norm", "Source"}));
  const auto functions = list_functions();
  const auto it = std::find_if(functions.begin(), functions.end(),
                               [](const Listing& s) { return s.name == "long (long)"; });
  ASSERT_NE(it, functions.end());
  std::vector<std::string_view> names;
  for (const ConfigType* type : it->classes) names.push_back(type->name);
  EXPECT_THAT(names, ElementsAre("Fixed", "Scaled", "thrice", "twice"));
}

TEST(TypeNames, WithoutNamespaces) {
  EXPECT_EQ(short_type_name(typeid(Norm)), "Norm");
  EXPECT_EQ(short_type_name(typeid(double(const Norm&))), "double (Norm const&)");
  EXPECT_EQ(short_type_name(typeid(std::vector<int>)).substr(0, 11), "vector<int,");
}

TEST(TypeNames, DerivesFromFollowsBases) {
  EXPECT_TRUE(derives_from(typeid(LoudScale), typeid(Scale)));
  EXPECT_TRUE(derives_from(typeid(LoudScale), typeid(Module)));
  EXPECT_FALSE(derives_from(typeid(Scale), typeid(LoudScale)));
  EXPECT_FALSE(derives_from(typeid(Scale), typeid(Source)));
  struct A {
    virtual ~A() = default;
  };
  struct B {
    virtual ~B() = default;
  };
  struct C : A, B {};
  EXPECT_TRUE(derives_from(typeid(C), typeid(B)));
}

}  // namespace
}  // namespace axle::example
