// Positions in row-major grids: the devices of a mesh, the chips of a box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/mesh.h"

namespace axle {

/// Coordinates of a position in a grid of `sizes`, the last of which counts fastest.
std::vector<int64_t> unravel(int64_t position, std::span<const int64_t> sizes);
/// The position at these coordinates.
int64_t ravel(std::span<const int64_t> coordinates, std::span<const int64_t> sizes);

/// Sizes of the mesh's axes: the grid of its devices.
std::vector<int64_t> axis_sizes(const Mesh& mesh);

}  // namespace axle
