// Puts a class around another one, by name.
#pragma once

#include <map>

#include "modifiers/modifier.h"

namespace axle {

/// Wraps every config of a class, or of any class of a role, in a config of another class: RoPE
/// around every QKV. What is inside of the new class already stays as it is. So a second
/// application changes nothing.
class WrapClass final : public Modifier {
 public:
  struct Config {
    /// Name of the class or role to wrap.
    std::string wrap = {};
    /// Name of the class around it; it starts with its defaults.
    std::string with = {};
    /// Name of the slot of the new class that takes the old config.
    std::string slot = "inner";
    /// Pattern of the slot paths to wrap at; "**": everywhere.
    std::string at = "**";
    /// Values that fields of the wrapped config must have, by path: {"bias": "true"}.
    std::map<std::string, std::string> where = {};
    AXLE_CONFIG(WrapClass, wrap, with, slot, at, where)
  };
  WrapClass(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError for unknown names and if the class does not fit a slot, NoMatch if the tree
  /// has no such config, wrapped or not.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
