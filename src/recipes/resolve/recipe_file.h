// The YAML files of `--config`: a recipe with changes. Reads them and applies their changes.
//
//   recipe: fuji-7B-v2
//   replace:
//     FeedForward: {with: MoE, set: {num_experts: 8}, at: "model.decoder.**", keep: [up]}
//     RMSNorm: LayerNorm
//   modify:
//     - SetRemat: {at: "**.layer", policy: SaveDots}
//   set:
//     learner.optimizer.learning_rate.peak: 2e-4
//
// A file may instead hold a whole config. `axle config show --yaml` prints such a file, and run
// folders hold one.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mistakes.h"
#include "base/text/yaml.h"
#include "config/replace.h"
#include "train/config/trainer_config.h"

namespace axle {

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
  std::vector<Rewrite> rewrites = {};
  /// Files that are read from another path than the config says.
  std::vector<std::string> warnings = {};
};
/// Returns the report as text:
///   mesh rule gpu-.* for gpu-H100-8
///   FeedForward -> MoE: model.decoder.layers.layer.feed_forward.body
///     carried over: ...
///   SetRemat at **.layer, 2 slots: model.decoder.layers.pattern[0].layer, ...
///     so before: ...
///     skipped: ...: expected ..., got ...
std::string to_text(const ResolveReport& report);
/// Returns the lines of the report about mesh rules.
std::string mesh_rule_text(const ResolveReport& report);
/// Returns a line for each rewrite with the slots that it changed; below it, if there are any: the
/// slots that were so before, those that it skipped and why, the fields carried over and dropped.
std::string changes_text(const ResolveReport& report);

/// One entry of a section, and its location in the file: "moe.yaml:7".
struct RecipeFileEntry {
  std::string key;
  nlohmann::ordered_json value;
  std::string where;
  /// Locations of the elements if the value is a list, as far as they are known.
  std::vector<std::string> elements = {};
};

/// A parsed file of `--config`.
struct RecipeFile {
  std::string source;                            // its name for messages
  std::string recipe;                            // empty: no recipe is named
  std::optional<nlohmann::ordered_json> config;  // a whole config; the other members are then empty
  std::vector<RecipeFileEntry> replace, modify, set;
};

/// Reads and parses the file at `path`. Throws ConfigError "<path>: ..." if it can't be read, and
/// as parse_recipe_file().
RecipeFile read_recipe_file(const std::string& path);
/// Throws ConfigError "<source>:<line>: ..." for bad syntax, unknown sections and sections of the
/// wrong shape.
RecipeFile parse_recipe_file(std::string_view text, const std::string& source);
/// Like parse_recipe_file(), for a document that parse_yaml() returned with its lines.
RecipeFile recipe_file_from(nlohmann::ordered_json document, YamlLines lines,
                            const std::string& source);

/// True if `path` is in the mesh rules. Mesh rules are set before everything else.
bool sets_mesh_rules(const std::string& path);
/// Applies the sections `replace`, `modify` and `set`, in this order, except entries that set mesh
/// rules. Mistakes read "<file>:<line>: ...".
void apply(const RecipeFile& file, Trainer::Config& config, ResolveReport& report,
           Mistakes& mistakes);
/// Sets the field that an entry of the section `set` names. Throws ConfigError
/// "<file>:<line>: ...".
std::vector<Rewrite> set_entry(const RecipeFileEntry& entry, Trainer::Config& config);

}  // namespace axle
