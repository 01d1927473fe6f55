// Layouts that layers ask for and cannot get, because a dim does not divide by the mesh.
#pragma once

#include <string>
#include <vector>

#include "ir/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// A line for each layer, shape and dim of `graph` that its sharding_constraint wants divided over
/// more devices than it divides into: the rest of them do the same work.
std::vector<std::string> unmet_layouts(const Region& graph, const Mesh& mesh);

}  // namespace axle
