// An exchange of equal parts between all devices. Call it inside of shard_map, with names of its
// manual axes.
#pragma once

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// Divides x along `split_dim` among the devices of a group, and concatenates what this device gets
/// along `concat_dim`.
Tensor all_to_all(const Tensor& x, const DimAxes& axes, int64_t split_dim, int64_t concat_dim);

}  // namespace axle
