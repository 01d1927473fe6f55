// The mesh axes that layers shard over by default. A slot's @partition overrides them.
//
// The axes of a mesh are pipeline, data, expert, fsdp, seq and model. A mesh may lack some of them.
// Dims that are sharded over a missing axis are replicated.
#pragma once

#include <algorithm>

#include "ir/devices/mesh.h"
#include "lower/stablehlo.h"

namespace axle {

/// The names of all axes that layers know. The axis with the least communication comes first.
inline const std::vector<std::string> kMeshAxes = {"pipeline", "data", "expert",
                                                   "fsdp",     "seq",  "model"};
/// Shards the model dim of weights.
inline const DimAxes kModelDimAxes = {"expert", "fsdp", "seq"};
/// Shards attention heads, hidden units, and the model dim of embeddings and output heads. With
/// parallel_vocabulary it shards their vocabulary instead.
inline const DimAxes kShardAxes = "model";
/// Shards the rows of a batch.
inline const DimAxes kBatchAxes = {"data", "expert", "fsdp"};
/// Shards the positions of a row.
inline const DimAxes kSequenceAxes = "seq";
/// Layout of the activations [B, T, D] between layers.
inline const PartitionSpec kTokenAxes = {{kBatchAxes, kSequenceAxes}};
/// Layout of the activations inside layers: heads [B, T, N, H] and hidden units [B, T, F].
inline const PartitionSpec kTokenPartsAxes = {{kBatchAxes, kSequenceAxes, kShardAxes}};
/// Layout of keys and values [B, S, K, H], also of cached ones. The sequence is not sharded, since
/// a query may see every position.
inline const PartitionSpec kWholeSequenceAxes = {{kBatchAxes, kReplicated, kShardAxes}};

/// Returns how a weight is sharded while tokens meet it: without the axes that shard its model dim.
inline PartitionSpec without_model_dim_axes(PartitionSpec weight) {
  const auto is_one = [](const std::string& axis) {
    return std::ranges::find(kModelDimAxes, axis) != kModelDimAxes.end();
  };
  for (DimAxes& axes : weight.dims) std::erase_if(axes, is_one);
  return weight;
}

// Checks of the mesh axis names in a program: each name exists, no layout names an axis twice, and
// every axis of the mesh is used.
//
// Without these checks a misspelled axis name would only replicate work over more devices.

/// Throws ConfigError in each of these cases:
///   an input of the program is sharded over an axis that is neither in `mesh` nor in kMeshAxes;
///   no input is sharded over some axis of `mesh` of size > 1;
///   the role of an axis "<name>:<role>" is not in kMeshAxes.
void check_mesh(const Mesh& mesh, const std::vector<ProgramValue>& inputs);
/// Throws ConfigError if a sharding constraint in `graph` names an axis that is neither in `mesh`
/// nor in kMeshAxes, or names an axis twice. Axes of `mesh` that no constraint names are no error.
void check_constraints(const Mesh& mesh, const Region& graph);

}  // namespace axle
