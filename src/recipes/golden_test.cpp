// Every recipe's config and parameters, line by line. Any change shows in a golden file.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/print.h"
#include "recipes/recipe.h"
#include "testing/layer_laws.h"
#include "testing/test_name.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

class RecipeGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(RecipeGolden, Config) {
  testing::expect_golden("recipes/" + GetParam() + ".config.txt", to_string(recipe(GetParam())));
}

TEST_P(RecipeGolden, Parameters) {
  const Trainer::Config cfg = recipe(GetParam());
  const Tree<ParamSpec> specs = cfg.model.build({}, Scope{})->param_specs();
  const auto learner = cfg.learner.build({.params = specs, .run_steps = cfg.max_steps}, Scope{});
  testing::expect_golden("recipes/" + GetParam() + ".params.txt",
                         testing::detail::parameter_table(learner->trained()));
}

INSTANTIATE_TEST_SUITE_P(All, RecipeGolden, ::testing::ValuesIn(recipe_names()), kNamedByText);

TEST(Recipes, IncludeKnownNames) {
  for (const char* name : {"fuji-1B-v3", "fuji-7B-v1", "mamba2-130M", "quickstart"})
    EXPECT_EQ(std::ranges::count(recipe_names(), name), 1) << name;
}

TEST(Recipes, UnknownNamesGetTheNearest) {
  const std::string error = error_of([] { recipe("quikstart"); });
  EXPECT_THAT(error, ::testing::StartsWith("no recipe is called 'quikstart'; did you mean "
                                           "'quickstart'? (recipes: deepseek-v3-671B, "));
  EXPECT_THAT(error, ::testing::EndsWith(fmt::format(" and {} more: axle config list)",
                                                     recipe_names().size() - 24)));
}

}  // namespace
}  // namespace axle
