// Exchanges the cores of attentions.
#pragma once

#include "layers/attention/cores/softmax_attention.h"
#include "modifiers/modifier.h"

namespace axle {

/// Puts a core into every attention where the model can still be built, and reports the others with
/// the reason. Fields that the core does not set keep the values of the old core.
class SetCore final : public Modifier {
 public:
  struct Config {
    /// The core.
    Child<AttentionCore> core = SoftmaxAttention::Config{};
    /// Pattern of the paths of the slots; "**": everywhere.
    std::string at = "**";
    AXLE_CONFIG(SetCore, core, at)
  };
  SetCore(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if no attention takes the core.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
