// Sequence parallelism: between the layers' products, tokens are divided along the sequence.
//
// Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2.
#pragma once

#include "ir/mesh.h"
#include "modifiers/modifier.h"

namespace axle {

/// Lays the results of all blocks and of the embedding, and so the norms and residuals between
/// them, over `axes` along the sequence. With the axis of tensor parallelism, each all-reduce of a
/// layer becomes an all-gather before its products and a reduce-scatter behind them, and norms are
/// computed once instead of on every device of the axis.
///
/// Sets the option `@activation` of every slot of the roles Block and TokenEmbedding.
class SequenceParallel final : public Modifier {
 public:
  struct Config {
    /// Beside the sequence axis that layers name themselves.
    DimAxes axes = "model";
    AXLE_CONFIG(SequenceParallel, axes)
  };
  SequenceParallel(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError for a tree without such slots.
  std::vector<Replaced> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
