// The arguments of every verb that takes a recipe.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/print.h"
#include "recipes/resolve/resolve.h"
#include "targets/target.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// What a run begins with, or the run that goes on.
struct RunStart {
  /// The model that --init-from names; empty: none.
  std::filesystem::path model = {};
  /// The dtype of its parameters; none: as stored.
  std::optional<DType> dtype = {};
  /// The folder of a run with checkpoints, which is resumed; empty: a new run.
  std::filesystem::path resumed = {};
};

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
  /// Resolves the config of request(), and prints its warnings. Without a recipe, also in files, it
  /// begins with the config that fine-tunes the model of `start`, if that names one. A run that is
  /// resumed begins with its own config where that model is not there any more, or not named.
  /// Throws ConfigError, also for a dtype where there is another config, or a run of another dtype.
  Resolved resolve(std::string_view backend = "cpu", const RunStart& start = {}) const;
  /// Throws ConfigError if RECIPE is a model, or the folder of a run or an import. For verbs that
  /// would begin with its config and with new weights.
  void check_names_recipe() const;
  /// Whether RECIPE or --config is given.
  bool names_any() const { return !request_.recipe.empty() || !files_.empty(); }
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
  void take_path(ResolveRequest& request) const;
  void check_has_start(const ResolveRequest& request) const;
  Trainer::Config fine_tune(const ResolveRequest& request, const std::filesystem::path& model,
                            const std::optional<DType>& dtype = {}) const;
  Resolved go_on(ResolveRequest request, const RunStart& start) const;
  Resolved resolve_again(const ResolveRequest& request, const std::string& folder) const;
  void check_kept(Trainer::Config& start, const std::string& folder) const;
  ResolveRequest request_;
  std::optional<Target> target_;
  std::vector<std::string> files_, ignored_;
  std::vector<std::pair<const char*, std::string>> adapter_flags_;  // --lora and its fields
  std::optional<std::string> preference_;                           // --dpo
};

/// Prints the changes to stderr, for verbs whose stdout holds something else.
void print_changes(const ResolveReport& report);

/// Prints the warnings to stderr, a line each.
void print_warnings(const ResolveReport& report);

/// Adds --set PATH=VALUE to a verb that takes no recipe. Each use appends one edit.
void add_set_to(CLI::App& app, std::vector<Edit>& edits);

/// Resolves a recipe by its name, a config file, or the config of a run folder. `on` names the
/// machine as --on does; none: this one. Throws ConfigError.
Resolved resolve_named(const std::string& name, const std::optional<std::string>& on);

struct ConfigChanges {
  std::vector<ConfigChange> changes;
};

/// Returns one line "path: before -> after" for each difference; "no differences" if there are
/// none.
std::string to_text(const ConfigChanges& report);
/// Returns {changes: {path: {before, after}}}. The value of a side that lacks the path is null.
nlohmann::ordered_json to_json(const ConfigChanges& report);

}  // namespace axle::cli
