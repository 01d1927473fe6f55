// Modifiers for meshes: its shape, how parameters are sharded, what is recomputed, and sequence
// parallelism.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/devices/mesh.h"
#include "modifiers/modifier.h"
#include "nn/layer.h"
#include "nn/remat_policies.h"

namespace axle {

/// Sets the field `mesh` of the root.
class SetMesh final : public Modifier {
 public:
  struct Config {
    /// Names and sizes of the axes in order, such as "data=-1,fsdp=8"; -1: all remaining devices.
    Required<Mesh> mesh = REQUIRED;
    AXLE_CONFIG(SetMesh, mesh)
  };
  SetMesh(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// Shorthand for rules: mesh({{.name = "data", .size = -1}}).
SetMesh::Config mesh(std::vector<MeshAxis> axes);

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

/// Sets the option `@remat` of every layer slot whose path matches.
class SetRemat final : public Modifier {
 public:
  struct Config {
    /// Pattern of slot paths: "model.decoder.layers.layer"; "**.layer" for any depth.
    std::string at = {};
    /// Remat policy of these layers; none: no remat, all values are kept.
    std::optional<Fn<RematPolicy()>> policy = {};
    AXLE_CONFIG(SetRemat, at, policy)
  };
  SetRemat(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// Shorthands for rules: remat("**.layer", save("qkv", "attention_output")).
SetRemat::Config remat(std::string at, Fn<RematPolicy()> policy);
template <std::convertible_to<std::string>... N>
SaveNames save(N... names) {
  return {.names = {names...}};
}

// Sequence parallelism: activations between the products of layers are sharded along the sequence.
//
// Source: Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2.

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
