// The arguments of every verb that takes a recipe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/resolve/resolve.h"
#include "targets/target.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// RECIPE, --config, --on, --ignore, and the flags that change fields: --set, --modify, --mesh,
/// --steps, --seed, --data. The flags that change fields apply in their order on the command line,
/// but --dpo comes last.
class RecipeArguments {
 public:
  void add_to(CLI::App& app);
  /// Reads the files. Without --on, the machine is this one, with its devices of `backend`. Throws
  /// ConfigError for files that can't be read or parsed, and for --ignore without a model of
  /// another program.
  ResolveRequest request(std::string_view backend = "cpu") const;
  /// Resolves the config of request(). Without a recipe, also in files, it begins with the config
  /// that fine-tunes `model`, if that names one, with parameters of this dtype. Throws ConfigError,
  /// also for a dtype where there is another config.
  Resolved resolve(std::string_view backend = "cpu", const std::filesystem::path& model = {},
                   const std::optional<DType>& dtype = {}) const;
  /// The fields that --ignore names.
  const std::vector<std::string>& ignored() const { return ignored_; }
  /// Throws DataError if --data names nothing. For verbs that read no data, which would not notice.
  void check_data() const;
  /// The files that --config names.
  const std::vector<std::string>& files() const { return files_; }
  /// The target that --on names; none without --on.
  const std::optional<Target>& target() const { return target_; }

 private:
  std::string machine(std::string_view backend) const;
  ResolveRequest request(std::string_view backend, bool reads_other_model) const;
  Trainer::Config fine_tune(const ResolveRequest& request, const std::filesystem::path& model,
                            const std::optional<DType>& dtype = {}) const;
  ResolveRequest request_;
  std::optional<Target> target_;
  std::vector<std::string> files_, ignored_;
  std::vector<std::pair<const char*, std::string>> adapter_flags_;  // --lora and its fields
  std::optional<UseModifier> preference_;
};

/// Prints the changes to stderr, for verbs whose stdout holds something else.
void print_changes(const ResolveReport& report);

/// Adds --set PATH=VALUE to a verb that takes no recipe. Each use appends one edit.
void add_set_to(CLI::App& app, std::vector<Edit>& edits);

/// Resolves a recipe by its name, a config file, or the config of a run folder. `on` names the
/// machine as --on does; none: this one. Throws ConfigError.
Resolved resolve_named(const std::string& name, const std::optional<std::string>& on);

}  // namespace axle::cli
