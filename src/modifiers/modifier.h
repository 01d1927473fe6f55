// Modifiers rewrite config trees and are configs themselves. Mesh rules and the `modify` section of
// config files hold them.
#pragma once

#include <string>
#include <vector>

#include "config/axle_config.h"
#include "config/config_ref.h"
#include "config/fields/child.h"
#include "config/replace.h"

namespace axle {

/// Rewrites the config tree of a trainer.
class Modifier {
 public:
  using Role = Modifier;
  struct Dims {};
  virtual ~Modifier() = default;
  /// Rewrites the tree in place. Returns the classes that it replaced by name, with reports of the
  /// fields kept. Throws ConfigError if it finds nothing to rewrite.
  virtual std::vector<Replaced> apply(ConfigRef root) const = 0;
};

/// Builds the modifier and applies it to `root`. `path` is its place in the config, for messages.
/// Returns what Modifier::apply returns. Throws ConfigError if a required field is not set.
std::vector<Replaced> apply_modifier(const Child<Modifier>& config, const std::string& path,
                                     ConfigRef root);

/// Modifiers for the machines whose name matches `machine`, such as "tpu-v5p-.*",
/// "gpu-(H100|H200)-.*" or "cpu.*".
struct MeshRule {
  /// Regular expression that must match the whole name of a machine.
  std::string machine = {};
  /// Modifiers, applied in order.
  std::vector<Child<Modifier>> modifiers = {};
  AXLE_CONFIG(MeshRule, machine, modifiers)
};
using MeshRules = std::vector<MeshRule>;

/// The `machine` pattern of the rule that was applied, "" if no rule matched, and the classes that
/// its modifiers replaced.
struct AppliedRule {
  std::string machine = {};
  std::vector<Replaced> replaced = {};
};

/// Applies the modifiers of the first rule that matches `machine`, in order. Throws ConfigError if
/// a pattern is not a regular expression.
AppliedRule apply_mesh_rules(const MeshRules& rules, const std::string& machine, ConfigRef root);

}  // namespace axle
