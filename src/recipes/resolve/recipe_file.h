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

#include "config/document/yaml.h"
#include "config/mistakes.h"
#include "recipes/resolve/resolve_report.h"
#include "train/config/trainer_config.h"

namespace axle {

/// One entry of a section, and its place in the file: "moe.yaml:7".
struct RecipeFileEntry {
  std::string key;
  nlohmann::ordered_json value;
  std::string where;
  /// Places of the elements if the value is a list, as far as they are known.
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
