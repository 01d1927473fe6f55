// Puts one class in the place of another, by name.
#pragma once

#include "modifiers/modifier.h"

namespace axle {

/// Replaces every config of a class, or of any class of a role, as replace_config does: fields of
/// the same name and type keep their values, and so do the options of the slots.
class ReplaceClass final : public Modifier {
 public:
  struct Config {
    /// A class or a role.
    std::string replace = {};
    /// The class that takes its place, with its defaults.
    std::string with = {};
    /// Pattern of slot paths.
    std::string at = "**";
    AXLE_CONFIG(ReplaceClass, replace, with, at)
  };
  ReplaceClass(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError for unknown names, a class that does not fit, and where nothing matches.
  std::vector<Replaced> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
