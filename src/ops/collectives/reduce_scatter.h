// A sum over devices, of which each gets a part. Call it inside of shard_map, with names of its
// manual axes.
#pragma once

#include <vector>

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// Returns this device's part, along `dim`, of the sum over the group. The number of devices must
/// divide the dim.
Tensor reduce_scatter(const Tensor& x, const DimAxes& axes, int64_t dim);
/// The same over axes of a mesh. For vjp and batching rules: while they run, no axis is manual.
Tensor reduce_scatter_over(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim);

}  // namespace axle
