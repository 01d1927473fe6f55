// From a recipe's name, files and flags to the config of a trainer: a pure function.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "config/mistakes.h"
#include "config/replace.h"
#include "recipes/host_machine.h"
#include "train/trainer.h"

namespace axle {

/// A field by its path, with the text that it is set to (config/set.h).
struct SetField {
  std::string path, text;
};
/// See use_data.h.
struct UseData {
  std::string data;
};
using Edit = std::variant<SetField, UseData>;

/// The text of a file of `--config` (recipe_file.h), and its name for messages.
struct ConfigText {
  std::string source, text;
};

struct ResolveRequest {
  /// Empty: the recipe that the last of the files names.
  std::string recipe = {};
  std::vector<ConfigText> files = {};
  /// From left to right: the last wins.
  std::vector<Edit> edits = {};
  /// What mesh rules match: "cpu-16", "gpu-H100-8".
  std::string machine = {};
};

/// What was rewritten on the way.
struct ResolveReport {
  std::string recipe;
  std::string machine;
  std::string mesh_rule;  // the pattern that matched; empty: none
  /// Where none of them matches: the patterns of all rules.
  std::vector<std::string> unmatched_rules = {};
  /// Of a whole config: the rule of this machine that it holds and does not follow.
  std::string kept_from_rule = {};
  /// Where a file changed the rules after they were applied: the one of this machine that the
  /// config does not follow.
  std::string late_rule = {};
  std::vector<Replaced> replaced = {};
  std::vector<std::string> modified = {};
};
/// "mesh rule gpu-.* for gpu-H100-8\nFeedForward -> MoE:
/// model.decoder.layers.layer.feed_forward.body\n  carried over: ...\n".
std::string to_text(const ResolveReport& report);
/// Its lines about mesh rules.
std::string mesh_rule_text(const ResolveReport& report);
/// What was replaced, with what was carried over and dropped, and who modified; a line each.
std::string changes_text(const ResolveReport& report);

struct Resolved {
  Trainer::Config config;
  ResolveReport report;
};

/// Applies, in this order: recipe, mesh rule, then of each file replace, modify and set, then the
/// edits; at last evalers take over from the input what they leave open (evaler_inputs.h). Rules
/// that a file or an edit sets take the place of the recipe's. A file with a whole config stands
/// for recipe and mesh rule, unless something sets rules beside it. Throws ConfigError with a line
/// for each mistake, where a file is to blame as "<file>:<line>: ...". Files of tokenizers
/// that lie beside a whole config are named from there.
Resolved resolve_config(const ResolveRequest& request);
/// The same; what can't be applied is left out and told of in `mistakes`. Throws ConfigError where
/// there is nothing to apply it to: no recipe, or a file that can't be parsed.
Resolved resolve_config(const ResolveRequest& request, Mistakes& mistakes);

/// Text of a file for --config that gives exactly this config.
std::string to_config_file(const std::string& recipe, const Trainer::Config& config);

}  // namespace axle
