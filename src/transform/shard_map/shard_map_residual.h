// Values that leave the body of a forward shard_map for that of a backward one.
//
// A residual may differ on every device: its parts are concatenated along dim 0, over all manual
// axes. A scalar becomes a part of one element.
#pragma once

#include "transform/remat/partition.h"
#include "transform/shard_map/shard_map_op.h"

namespace axle {

/// Returns the spec of a residual.
PartitionSpec spec_of_residual(const ShardMapAttributes& attributes);

/// Emits a shard_map over the forward half of a body. Returns the results of the body, then the
/// residuals.
Values emit_forward_half(const Halves& halves, const Values& inputs,
                         const ShardMapAttributes& attributes);

/// Returns the arguments of the backward half of a body from the parts that its shard_map gets: the
/// needed parameters, the parts of the residuals, the others.
Values arguments_of_backward_half(const Halves& halves, const Values& parts);

}  // namespace axle
