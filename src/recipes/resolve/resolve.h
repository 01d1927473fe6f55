// Resolves a recipe's name, files and flags to the config of a trainer. A pure function.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "config/replace.h"
#include "recipes/resolve/recipe_file.h"
#include "train/trainer.h"

namespace axle {

class Mistakes;

/// Sets the field at a path to the value that the text describes (config/set.h).
struct SetField {
  std::string path, text;
};
/// Sets the training data to a path or to "synthetic" (use_data.h).
struct UseData {
  std::string data;
};
using Edit = std::variant<SetField, UseData>;

/// Everything that determines a config.
struct ResolveRequest {
  /// Name of the recipe; empty: the recipe that the last of the files names.
  std::string recipe = {};
  std::vector<RecipeFile> files = {};
  /// Applied from left to right, so the last one wins.
  std::vector<Edit> edits = {};
  /// The machine type that mesh rules match: "cpu-16", "gpu-H100-8".
  std::string machine = {};
};

/// The changes that were made on the way to the config.
struct ResolveReport {
  std::string recipe;
  std::string machine;
  std::string mesh_rule;  // pattern of the rule that matched; empty: none
  /// The patterns of all rules if none of them matches.
  std::vector<std::string> unmatched_rules = {};
  /// For a whole config: the rule that matches this machine and would still change it. Rules are
  /// not applied again to a whole config. Empty: none.
  std::string rule_not_reapplied = {};
  /// If a file changed the rules after they were applied: the rule that matches this machine and
  /// was not applied. Empty: none.
  std::string rule_set_too_late = {};
  std::vector<Replaced> replaced = {};
  std::vector<std::string> modified = {};
};
/// Returns the report as text:
///   mesh rule gpu-.* for gpu-H100-8
///   FeedForward -> MoE: model.decoder.layers.layer.feed_forward.body
///     carried over: ...
std::string to_text(const ResolveReport& report);
/// Returns the lines of the report about mesh rules.
std::string mesh_rule_text(const ResolveReport& report);
/// Returns one line for each replacement, with the fields carried over and dropped, and one for
/// each modifier.
std::string changes_text(const ResolveReport& report);

struct Resolved {
  Trainer::Config config;
  ResolveReport report;
};

/// Applies, in this order:
///   1. the recipe
///   2. the first mesh rule that matches
///   3. `replace`, `modify` and `set` of each file
///   4. the edits
///   5. values of the input that evalers leave open (evaler_inputs.h)
/// Mesh rules that a file or an edit sets replace those of the recipe. A file with a whole config
/// takes the place of the recipe and the mesh rule, unless a file or an edit sets mesh rules.
/// Relative paths of tokenizer files that lie beside a whole config are resolved against its
/// folder. Throws ConfigError with one line for each mistake; mistakes in a file read
/// "<file>:<line>: ...".
Resolved resolve_config(const ResolveRequest& request);
/// Like resolve_config() above, but leaves out what can't be applied and adds it to `mistakes`.
/// Throws ConfigError if there is nothing to apply changes to: no recipe, or two
/// whole configs.
Resolved resolve_config(const ResolveRequest& request, Mistakes& mistakes);

/// Applies the edits to `config`, in their order. Returns what they replaced. Throws ConfigError
/// with a line for each mistake; the other edits are applied then.
std::vector<Replaced> apply_edits(const std::vector<Edit>& edits, Trainer::Config& config);

/// Returns the text of a file for --config that gives exactly this config.
std::string to_config_file(const std::string& recipe, const Trainer::Config& config);

}  // namespace axle
