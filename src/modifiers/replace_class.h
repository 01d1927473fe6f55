// Replaces one class by another, by name.
#pragma once

#include "modifiers/modifier.h"

namespace axle {

/// Replaces every config of a class, or of any class of a role, like replace_config. Fields with
/// the same name and type keep their values; slots keep their options.
class ReplaceClass final : public Modifier {
 public:
  struct Config {
    /// Name of the class or role to replace.
    std::string replace = {};
    /// Name of the new class; it starts with its defaults.
    std::string with = {};
    /// Pattern of the slot paths to replace at; "**": everywhere.
    std::string at = "**";
    AXLE_CONFIG(ReplaceClass, replace, with, at)
  };
  ReplaceClass(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError for unknown names, if the class does not fit a slot, or if nothing matches.
  std::vector<Replaced> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
