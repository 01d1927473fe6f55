// Positions in row-major grids: the devices of a mesh, the chips of a box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/devices/mesh.h"

namespace axle {

/// Returns the coordinates of a position in a grid of `sizes`; the last coordinate varies fastest.
std::vector<int64_t> unravel(int64_t position, std::span<const int64_t> sizes);
/// Returns the position at these coordinates.
int64_t ravel(std::span<const int64_t> coordinates, std::span<const int64_t> sizes);

/// Returns the sizes of the mesh's axes: the shape of its device grid.
std::vector<int64_t> axis_sizes(const Mesh& mesh);

}  // namespace axle
