// Modifiers rewrite config trees and are configs themselves. Mesh rules, the `modify` section of
// config files and `--modify` hold them.
#pragma once

#include <string>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "config/replace.h"
#include "config/walk.h"

namespace axle {

/// Options of every slot that holds a modifier.
struct ModifierOptions {
  /// True: the modifier may find nothing to change. False: that is an error.
  bool allow_none = false;
  AXLE_CONFIG(ModifierOptions, allow_none)
};

/// Returns the option `allow_none` of the slot whose modifier is built.
bool may_find_none(const Scope& scope);

/// Rewrites the config tree of a trainer.
class Modifier {
 public:
  using Role = Modifier;
  using Options = ModifierOptions;
  struct Dims {};
  virtual ~Modifier() = default;
  /// Rewrites the tree in place. Returns what it did: the slots that it changed, those that were so
  /// before, and those that it could not change. A second call changes nothing. Throws ConfigError
  /// for mistakes; may throw NoMatch, if it can say more about it than apply_modifier().
  virtual std::vector<Rewrite> apply(ConfigRef root) const = 0;
};

/// Builds the modifier and applies it to `root`. `path` is its path in the config, for messages.
/// Returns what Modifier::apply returns. Throws ConfigError if a required field is not set, and if
/// the modifier finds nothing that it can change, unless its option `allow_none` is set. The
/// modifier is a copy: it may rewrite the part of `root` that it came from.
std::vector<Rewrite> apply_modifier(Child<Modifier> config, const std::string& path,
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

/// The `machine` pattern of the rule that was applied, "" if no rule matched, and what its
/// modifiers did.
struct AppliedRule {
  std::string machine = {};
  std::vector<Rewrite> rewrites = {};
};

/// Applies the modifiers of the first rule that matches `machine`, in order. Throws ConfigError if
/// a pattern is not a regular expression. The rules are a copy: they may rewrite themselves.
AppliedRule apply_mesh_rules(MeshRules rules, const std::string& machine, ConfigRef root);

/// Applies modifiers in order. Its option `allow_none` holds for each of them.
class Chain final : public Modifier {
 public:
  struct Config {
    /// The modifiers, applied in order.
    std::vector<Child<Modifier>> modifiers = {};
    AXLE_CONFIG(Chain, modifiers)
  };
  /// Throws ConfigError if `modifiers` is empty.
  Chain(const Config& cfg, const Dims&, const Scope& scope);
  /// Throws ConfigError if one of the modifiers does.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
  std::string path_;
  bool allow_none_;
};

}  // namespace axle
