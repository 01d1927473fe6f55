// Sets fields by their paths.
#pragma once

#include <map>

#include "modifiers/modifier.h"

namespace axle {

/// Sets fields to values given as text, like `--set`, in the order of their paths.
class SetFields final : public Modifier {
 public:
  struct Config {
    /// Values by path: {"input.batch_size": "32",
    /// "compiler_options.xla_gpu_enable_latency_hiding_scheduler": "true"}.
    std::map<std::string, std::string> set = {};
    AXLE_CONFIG(SetFields, set)
  };
  /// Throws ConfigError if `set` is empty.
  SetFields(const Config& cfg, const Dims&, const Scope&);
  /// Throws ConfigError for unknown paths and for values that do not fit their fields.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
