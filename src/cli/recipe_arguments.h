// The arguments of every verb that takes a recipe.
#pragma once

#include <optional>
#include <string>

#include "recipes/resolve.h"
#include "runtime/target.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// RECIPE, --config, --on, and the flags that change fields: --set, --mesh, --steps, --seed,
/// --data, --xla. These apply in the order in which they stand on the command line.
class RecipeArguments {
 public:
  void add_to(CLI::App& app);
  /// Without --on, for this machine's devices of `backend`. Throws ConfigError, also for files that
  /// can't be read.
  Resolved resolve(std::string_view backend = "cpu") const;
  /// As resolve_config with `mistakes`.
  Resolved resolve(Mistakes& mistakes) const;
  /// The recipe that `resolve` reports, or the whole config, without files' sections and flags:
  /// what they are compared with.
  Resolved resolve_plain(const std::string& recipe) const;
  /// The files of --config.
  const std::vector<std::string>& files() const { return files_; }
  /// What --on names; none without it.
  const std::optional<Target>& target() const { return target_; }

 private:
  std::string machine(std::string_view backend) const;
  ResolveRequest request(std::string_view backend) const;
  ResolveRequest request_;
  std::optional<Target> target_;
  std::vector<std::string> files_;
};

/// Tells on stderr what was rewritten: for verbs whose stdout is for something else.
void tell_changes(const ResolveReport& report);

/// --set PATH=VALUE, each an edit more, for verbs that take no recipe.
void add_set_to(CLI::App& app, std::vector<Edit>& edits);

/// A recipe by its name, a config file, or the config of a run folder, on the machine that `on`
/// names as --on does; empty: this one. Throws ConfigError.
Resolved resolve_named(const std::string& name, const std::string& on);

}  // namespace axle::cli
