// Rewrites of config trees that are configs themselves: what mesh rules and the `modify` section of
// files hold.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/replace.h"

namespace axle {

/// Rewrites the tree of a trainer in place; returns the classes that it replaced by name, with what
/// they kept. Throws ConfigError if it finds nothing to rewrite.
class Modifier {
 public:
  using Role = Modifier;
  struct Dims {};
  virtual ~Modifier() = default;
  virtual std::vector<Replaced> apply(ConfigRef root) const = 0;
};

/// What differs on machines whose accelerator type matches `machine`, a regular expression for the
/// whole name
/// ("tpu-v5p-.*", "gpu-(H100|H200)-.*", "cpu.*").
struct MeshRule {
  /// A regular expression for the whole name of a machine.
  std::string machine = {};
  /// Applied in order.
  std::vector<Child<Modifier>> modifiers = {};
  AXLE_CONFIG(MeshRule, machine, modifiers)
};
using MeshRules = std::vector<MeshRule>;

/// The pattern of a rule, "" where none matches, and what its modifiers replaced.
struct AppliedRule {
  std::string machine = {};
  std::vector<Replaced> replaced = {};
};

/// Applies the modifiers of the first rule that matches, in order. Throws ConfigError for a pattern
/// that is no regular expression.
AppliedRule apply_mesh_rules(const MeshRules& rules, const std::string& machine, ConfigRef root);

}  // namespace axle
