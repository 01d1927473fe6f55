// Several modifiers as one.
#pragma once

#include "modifiers/modifier.h"

namespace axle {

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
