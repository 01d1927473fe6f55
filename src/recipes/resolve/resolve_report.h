// What was changed on the way from a recipe to its config, as data and as text.
#pragma once

#include <string>
#include <vector>

#include "config/replace.h"

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
  /// Files that are read from another place than the config says.
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

}  // namespace axle
