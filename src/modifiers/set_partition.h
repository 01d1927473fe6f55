// Overrides how the weights of layers are sharded over the mesh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/devices/mesh.h"
#include "modifiers/modifier.h"

namespace axle {

/// Sets the option `@partition` of every layer slot whose path matches.
class SetPartition final : public Modifier {
 public:
  struct Config {
    /// Pattern of slot paths: "model.decoder.emb"; "**.up" for any depth.
    std::string at = {};
    /// Mesh axes of each dim of the weight; none: the layer's own axes.
    std::optional<PartitionSpec> partition = {};
    AXLE_CONFIG(SetPartition, at, partition)
  };
  SetPartition(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// For rules: shards the vocabulary of an embedding or head, weight[V, D], over `model`. Each
/// device looks up and computes logits for its own part of the vocabulary. D is sharded like the
/// model dim of other weights.
SetPartition::Config parallel_vocabulary(std::string at);

/// For rules: shards the vocabulary of an embedding, weight[V, D], over all axes that shard
/// weights, and replicates D, so that each device has whole rows. If D is sharded over many
/// devices, a shard is narrower than a TPU tile, and the TPU compiler sums the gradients of such
/// shards by all-reduces.
SetPartition::Config whole_rows(std::string at);

}  // namespace axle
