// Collectives. Call them inside of shard_map, with names of its manual axes.
#pragma once

#include <utility>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

// Collectives that reduce over devices. Axes of size 1 are left out; if no axis is left, a
// collective returns x.

/// Returns the sum of x over the devices of each group, on all of them. Throws ShapeError for an
/// axis that is not manual, as all functions of this folder do.
Tensor psum(const Tensor& x, const DimAxes& axes);
/// Returns psum divided by the number of devices: a float of the dtype of `mean` for integers too.
Tensor pmean(const Tensor& x, const DimAxes& axes);
/// Returns the maximum over the devices of each group. Devices that have it share its gradient.
Tensor pmax(const Tensor& x, const DimAxes& axes);
Tensor pmin(const Tensor& x, const DimAxes& axes);

/// Returns the position of the device in its group, an i32 scalar: row-major over the axes.
Tensor axis_index(const DimAxes& axes);
/// Returns the number of devices in a group.
int64_t axis_size(const DimAxes& axes);

// Sending tensors from device to device.

/// A device of a group sends to another one, by their positions.
using DevicePairs = std::vector<std::pair<int64_t, int64_t>>;
/// Sends x along the pairs (from, to). A device that nobody sends to gets zeros. No device may
/// occur twice as `from` or as `to`.
Tensor ppermute(const Tensor& x, const DimAxes& axes, const DevicePairs& pairs);

// The parts of all devices, concatenated.

/// Returns the parts of all devices of a group, concatenated along `dim`.
Tensor all_gather(const Tensor& x, const DimAxes& axes, int64_t dim);
/// The same over axes of a mesh. For vjp and batching rules: while they run, no axis is manual.
Tensor all_gather_over(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim);

// A sum over devices, of which each gets a part.

/// Returns this device's part, along `dim`, of the sum over the group. The number of devices must
/// divide the dim.
Tensor reduce_scatter(const Tensor& x, const DimAxes& axes, int64_t dim);
/// The same over axes of a mesh. For vjp and batching rules: while they run, no axis is manual.
Tensor reduce_scatter_over(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim);

// An exchange of equal parts between all devices.

/// Divides x along `split_dim` among the devices of a group, and concatenates what this device gets
/// along `concat_dim`.
Tensor all_to_all(const Tensor& x, const DimAxes& axes, int64_t split_dim, int64_t concat_dim);

// An exchange of slices whose sizes are known only when the program runs, such as the tokens of a
// mixture of experts.

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
