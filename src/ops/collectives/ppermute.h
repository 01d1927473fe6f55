// Sending tensors from device to device. Call it inside of shard_map, with names of its manual
// axes.
#pragma once

#include <utility>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// A device of a group sends to another one, by their positions.
using DevicePairs = std::vector<std::pair<int64_t, int64_t>>;
/// Sends x along the pairs (from, to). A device that nobody sends to gets zeros. No device may
/// occur twice as `from` or as `to`.
Tensor ppermute(const Tensor& x, const DimAxes& axes, const DevicePairs& pairs);

}  // namespace axle
