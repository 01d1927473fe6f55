// Sequence parallelism: activations between the products of layers are sharded along the sequence.
//
// Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2.
#pragma once

#include "ir/devices/mesh.h"
#include "modifiers/modifier.h"

namespace axle {

/// Shards the results of all blocks and of the embedding over `axes` along the sequence, and thus
/// the norms and residuals between them. If `axes` is the axis of tensor parallelism, each
/// all-reduce of a layer becomes an all-gather before its products and a reduce-scatter after them.
/// Each device of the axis then computes the norms of its own positions only.
///
/// Sets the option `@activation` of every slot of the roles Block and TokenEmbedding.
class SequenceParallel final : public Modifier {
 public:
  struct Config {
    /// Mesh axes that shard the sequence, besides the axis `seq`.
    DimAxes axes = "model";
    AXLE_CONFIG(SequenceParallel, axes)
  };
  SequenceParallel(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if the tree has no such slots.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
