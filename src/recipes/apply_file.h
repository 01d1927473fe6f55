// The sections of a recipe file, applied to a config.
#pragma once

#include "recipes/recipe_file.h"
#include "recipes/resolve.h"

namespace axle {

/// Applies `replace`, `modify` and `set`, in this order. Throws ConfigError "<file>:<line>: ...".
void apply_file(const RecipeFile& file, Trainer::Config& config, ResolveReport& report);

}  // namespace axle
