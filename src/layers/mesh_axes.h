// Mesh axes by which the layers here are sharded unless a slot's @partition says otherwise.
//
// The axes of a mesh are pipeline, data, expert, fsdp, seq, model; a mesh that lacks one replicates
// over it.
#pragma once

#include "ir/mesh.h"

namespace axle {

/// Dims of the model width in weights.
inline const DimAxes kModelDimAxes = {"expert", "fsdp", "seq"};
/// Heads, hidden units, vocabulary entries.
inline const DimAxes kShardAxes = "model";
/// Rows of a batch, and their positions.
inline const DimAxes kBatchAxes = {"data", "expert", "fsdp"};
inline const DimAxes kSequenceAxes = "seq";

}  // namespace axle
