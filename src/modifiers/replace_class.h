// Replaces one class by another, by name.
#pragma once

#include <map>

#include "modifiers/modifier.h"

namespace axle {

/// Replaces every config of a class, or of any class of a role, like replace_config. Fields with
/// the same name and type keep their values; slots keep their options. Applied twice, it finds no
/// config of the class that it has replaced.
class ReplaceClass final : public Modifier {
 public:
  struct Config {
    /// Name of the class or role to replace.
    std::string replace = {};
    /// Name of the new class; it starts with its defaults.
    std::string with = {};
    /// Fields of the new class by path, as text: {"eps": "1e-5"}. They keep no old value.
    std::map<std::string, std::string> set = {};
    /// Pattern of the slot paths to replace at; "**": everywhere.
    std::string at = "**";
    /// Values that fields of the old config must have, by path: {"num_heads": "8"}.
    std::map<std::string, std::string> where = {};
    AXLE_CONFIG(ReplaceClass, replace, with, set, at, where)
  };
  ReplaceClass(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError for unknown names and if the class does not fit a slot, NoMatch if nothing
  /// matches.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
