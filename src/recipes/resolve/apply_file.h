// Applies the sections of a recipe file to a config.
#pragma once

#include "config/mistakes.h"
#include "recipes/resolve/recipe_file.h"
#include "recipes/resolve/resolve.h"

namespace axle {

/// True if `path` is in the mesh rules. Mesh rules are set before everything else.
bool sets_mesh_rules(const std::string& path);

/// Applies the sections `replace`, `modify` and `set`, in this order, except entries that set mesh
/// rules. Mistakes read "<file>:<line>: ...".
void apply_file(const RecipeFile& file, Trainer::Config& config, ResolveReport& report,
                Mistakes& mistakes);

/// Sets the field that an entry of the section `set` names. Throws ConfigError
/// "<file>:<line>: ...".
std::vector<Replaced> set_entry(const RecipeFileEntry& entry, Trainer::Config& config);

}  // namespace axle
