// Averages of the parameters, for evaluation.
#pragma once

#include "learn/learner.h"
#include "modifiers/modifier.h"

namespace axle {

/// Sets the field `ema` of the learner: it keeps an exponential moving average of the parameters.
class SetEma final : public Modifier {
 public:
  struct Config {
    /// The average; a number is its decay; none: no average is kept.
    std::optional<ParamEma> ema = ParamEma{};
    AXLE_CONFIG(SetEma, ema)
  };
  SetEma(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if the tree has no learner with this field.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
