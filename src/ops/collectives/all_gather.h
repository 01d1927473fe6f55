// The parts of all devices, concatenated. Call it inside of shard_map, with names of its manual
// axes.
#pragma once

#include <vector>

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// Returns the parts of all devices of a group, concatenated along `dim`.
Tensor all_gather(const Tensor& x, const DimAxes& axes, int64_t dim);
/// The same over axes of a mesh. For vjp and batching rules: while they run, no axis is manual.
Tensor all_gather_over(const Tensor& x, const std::vector<MeshAxis>& axes, int64_t dim);

}  // namespace axle
