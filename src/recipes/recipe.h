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

}  // namespace axle
