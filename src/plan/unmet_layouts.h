// Layouts that layers ask for and cannot get, because a dim is not divisible by its mesh axes.
#pragma once

#include <string>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// Returns a line for each layer, shape and dim in `graph` that a sharding_constraint shards over a
/// number of devices that does not divide the dim. Groups of devices then do the same work.
std::vector<std::string> unmet_layouts(const Region& graph, const Mesh& mesh);

}  // namespace axle
