// Several modifiers as one.
#pragma once

#include "modifiers/modifier.h"

namespace axle {

/// Applies modifiers in order.
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
  std::vector<Replaced> apply(ConfigRef root) const override;

 private:
  Config cfg_;
  std::string path_;
};

}  // namespace axle
