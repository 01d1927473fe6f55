// Recipes by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/config/trainer_config.h"

namespace axle {

/// Returns the recipe registered under `name` by AXLE_REGISTER(function, "name"). Throws
/// ConfigError with the nearest name if there is none.
Trainer::Config recipe(std::string_view name);
/// Names of all recipes, sorted.
std::vector<std::string> recipe_names();
/// The names with the word "test" between hyphens: recipes of the same families at a tiny size, for
/// tests of everything else.
std::vector<std::string> test_recipe_names();
/// All other names: the recipes that lists and completion offer.
std::vector<std::string> product_recipe_names();

}  // namespace axle
