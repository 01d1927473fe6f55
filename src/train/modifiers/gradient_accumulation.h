// Gradient accumulation, for machines whose memory does not hold a whole batch.
#pragma once

#include "learn/learner.h"
#include "modifiers/modifier.h"

namespace axle {

/// Sets the field `microbatches` of the learner: a batch is computed in parts, one after another.
/// The batch, the number of steps and the gradient stay the same.
class GradientAccumulation final : public Modifier {
 public:
  struct Config {
    /// Number of parts; it must divide the rows of a batch.
    Required<Positive<int64_t>> microbatches = REQUIRED;
    AXLE_CONFIG(GradientAccumulation, microbatches)
  };
  GradientAccumulation(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if the tree has no learner with this field.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
