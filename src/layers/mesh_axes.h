// The mesh axes that layers shard over by default. A slot's @partition overrides them.
//
// The axes of a mesh are pipeline, data, expert, fsdp, seq and model. A mesh may lack some of them.
// Dims that are sharded over a missing axis are replicated.
#pragma once

#include <algorithm>

#include "ir/devices/mesh.h"

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

}  // namespace axle
