// Collectives that move parts of a tensor between devices. They are called inside of shard_map, by
// the names of its manual axes.
#pragma once

#include <utility>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// Returns the parts of all devices of a group, concatenated along `dim`.
Tensor all_gather(const Tensor& x, const DimAxes& axes, int64_t dim);
/// Returns this device's part, along `dim`, of the sum over the group. The number of devices must
/// divide the dim.
Tensor reduce_scatter(const Tensor& x, const DimAxes& axes, int64_t dim);
/// Divides x along `split_dim` among the devices of a group, and concatenates what this device gets
/// along `concat_dim`.
Tensor all_to_all(const Tensor& x, const DimAxes& axes, int64_t split_dim, int64_t concat_dim);

/// A device of a group sends to another one, by their positions.
using DevicePairs = std::vector<std::pair<int64_t, int64_t>>;
/// Sends x along the pairs (from, to). A device that nobody sends to gets zeros. No device may
/// occur twice as `from` or as `to`.
Tensor ppermute(const Tensor& x, const DimAxes& axes, const DevicePairs& pairs);

}  // namespace axle
