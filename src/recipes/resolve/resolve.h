// Resolves a recipe's name, files and flags to the config of a trainer. A pure function.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "recipes/resolve/check_recipe.h"
#include "recipes/resolve/recipe_file.h"
#include "recipes/resolve/use_data.h"
#include "train/config/trainer_config.h"

namespace axle {

class Mistakes;

/// Sets the field at a path to the value that the text describes (config/set.h).
struct SetField {
  std::string path, text;

  /// Returns what was rewritten if a class was replaced. Throws ConfigError as set() does.
  std::vector<Rewrite> apply_to(Trainer::Config& config) const;
};
/// A change that a flag asks for.
using Edit = std::variant<SetField, UseData, UseModifier>;

/// Everything that determines a config.
struct ResolveRequest {
  /// Name of the recipe; empty: the recipe that the last of the files names.
  std::string recipe = {};
  std::vector<RecipeFile> files = {};
  /// Instead of a recipe: the config to begin with, which has the name `recipe`.
  std::optional<Trainer::Config> start = {};
  /// Applied from left to right, so the last one wins.
  std::vector<Edit> edits = {};
  /// The machine type that mesh rules match: "cpu-16", "gpu-H100-8".
  std::string machine = {};
};

struct Resolved {
  Trainer::Config config;
  ResolveReport report;
};

/// Applies, in this order:
///   1. the recipe
///   2. the first mesh rule that matches
///   3. `replace`, `modify` and `set` of each file
///   4. the edits
///   5. values of the input that evalers leave open (complete_evaler_inputs)
/// Mesh rules that a file or an edit sets replace those of the recipe. A file with a whole config
/// takes the place of the recipe and the mesh rule, unless a file or an edit sets mesh rules.
/// Relative paths of tokenizer files that lie beside a whole config are resolved against its
/// folder; files that are not where it says are looked up there by name. Evalers that have the
/// run's tokenizer take the one that an edit sets. Throws ConfigError with one line for each
/// mistake, also if a later change does not suit an earlier rewrite (Rewrite::check); mistakes in a
/// file read "<file>:<line>: ...".
Resolved resolve_config(const ResolveRequest& request);
/// Like resolve_config() above, but leaves out what can't be applied and adds it to `mistakes`.
/// Throws ConfigError if there is nothing to apply changes to: no recipe, or two
/// whole configs.
Resolved resolve_config(const ResolveRequest& request, Mistakes& mistakes);

/// Applies the edits to `config`, in their order. Returns what they replaced. Throws ConfigError
/// with a line for each mistake; the other edits are applied then.
std::vector<Rewrite> apply_edits(const std::vector<Edit>& edits, Trainer::Config& config);

/// Returns the text of a file for --config that produces exactly this config.
std::string to_config_file(const std::string& recipe, const Trainer::Config& config);

/// Returns the config of the run in a folder as a file of --config: that of its newest checkpoint,
/// or its config.yaml if the checkpoints keep none. Throws ConfigError.
RecipeFile config_of_run(const std::filesystem::path& run);
/// Names the run's own copies of tokenizers and chat templates that are not where the config says
/// (interop/tokenizer_files.h). Reports those that are not among the warnings already.
void take_kept_tokenizers(Resolved& resolved, const std::filesystem::path& run);

}  // namespace axle
