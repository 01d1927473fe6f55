// MuP on every recipe: it prepares the recipe at twice its width, or refuses it in one line.
#include <gmock/gmock.h>

#include "base/error.h"
#include "recipes/mup_coordinates_test.h"
#include "recipes/recipe.h"

namespace axle {
namespace {

// Draws of a fixed deviation, as published.
const std::set<std::string> kRefused = {"deepseek-v3-671B", "deepseek-v3-671B-mtp", "gpt2-124M"};

TEST(MuPOfRecipes, WorksOrIsRefusedForEachRecipe) {
  for (const std::string& name : recipe_names()) {
    SCOPED_TRACE(name);
    Trainer::Config config = recipe(name);
    const MuP::Config mup{.base = widen(config, 2)};
    std::string refusal;
    try {
      const std::vector<Rewrite> done = apply_modifier(mup, "mup", config);
      done.at(0).check(config);  // what it has set itself is no later change
    } catch (const ConfigError& error) {
      refusal = error.what();
    }
    if (!kRefused.contains(name)) {
      EXPECT_EQ(refusal, "");
      continue;
    }
    EXPECT_THAT(refusal, ::testing::HasSubstr(
                             "MuP: expected hidden weights that start by VarianceScaling with a "
                             "fan, got a fixed size for model.decoder.layers."));
    EXPECT_THAT(refusal, ::testing::EndsWith("; set @init"));
    EXPECT_EQ(refusal.find('\n'), refusal.npos);
  }
}

}  // namespace
}  // namespace axle
