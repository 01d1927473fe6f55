// Lays the weights of layers over the mesh otherwise than the layers say.
#pragma once

#include "modifiers/modifier.h"
#include "nn/layer.h"

namespace axle {

/// Sets the option `@partition` of every layer slot whose path matches.
class SetPartition final : public Modifier {
 public:
  struct Config {
    /// Pattern of slot paths: "model.decoder.emb"; "**.up" for any depth.
    std::string at = {};
    /// Mesh axes of each dim of the weight; none: as the layer says.
    std::optional<PartitionSpec> partition = {};
    AXLE_CONFIG(SetPartition, at, partition)
  };
  SetPartition(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  std::vector<Replaced> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// For rules: an embedding or a head, weight[V, D], laid over `model` by its vocabulary, so that
/// each device looks up, and gives logits for, its own part of it; the other dim as that of other
/// weights.
SetPartition::Config parallel_vocabulary(std::string at);

/// For rules: an embedding, weight[V, D], laid over all axes that divide weights by its vocabulary
/// alone, so that each device has whole rows. Over many devices a part of D is narrower than a
/// tile of a TPU, and its compiler sums gradients of such parts by all-reduces.
SetPartition::Config whole_rows(std::string at);

}  // namespace axle
