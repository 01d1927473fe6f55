// The arguments of every verb that takes a recipe.
#pragma once

#include <string>

#include "recipes/resolve.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// RECIPE, --config, --on, and the flags that change fields: --set, --mesh, --steps, --seed,
/// --data. These apply in the order in which they stand on the command line.
class RecipeArguments {
 public:
  void add_to(CLI::App& app);
  /// Throws ConfigError, also for files that can't be read.
  Resolved resolve() const;
  /// As resolve, without files' sections and flags: what they are compared with.
  Resolved resolve_plain() const;

 private:
  void add_set(const std::string& text);
  ResolveRequest request_;
  std::vector<std::string> files_;
};

/// A recipe by its name, a config file, or the config of a run folder. Throws ConfigError.
Resolved resolve_named(const std::string& name, const std::string& machine);

}  // namespace axle::cli
