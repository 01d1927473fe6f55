// An exchange of slices whose sizes are known only when the program runs, such as the tokens of a
// mixture of experts. Call it inside of shard_map, with names of its manual axes.
#pragma once

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// The slices that a device exchanges with each device of its group, in their order: along dim 0,
/// counted in rows. Each tensor has one entry for each device of the group, all of one integer
/// dtype.
struct RaggedSlices {
  /// Where the slice for each device begins in the operand, and its size.
  Tensor input_offsets, send_sizes;
  /// Where the slice for each device begins in the output of that device.
  Tensor output_offsets;
  /// The size of the slice from each device.
  Tensor recv_sizes;
};

/// Sends slices of the operand to the devices of the group. Returns `output`, in which the received
/// slices replace rows. Slices lie within the tensors, and those that a device receives do not
/// overlap; where the gradient is needed, those that it sends do not overlap either.
///
/// Shapes: operand [S, ...], output [T, ...] of the same dtype and dims -> [T, ...]. Offsets and
/// sizes have no gradient.
///
/// A compiler that lacks the op gets an all_to_all of slices padded to min(S, T) rows
/// (LoweringTarget).
/// Throws ShapeError if the operands do not fit.
Tensor ragged_all_to_all(const Tensor& operand, const Tensor& output, const RaggedSlices& slices,
                         const DimAxes& axes);

}  // namespace axle
