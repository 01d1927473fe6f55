#include "ir/devices/grid.h"

namespace axle {

std::vector<int64_t> unravel(int64_t position, std::span<const int64_t> sizes) {
  std::vector<int64_t> out(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; position /= sizes[d]) out[d] = position % sizes[d];
  return out;
}

int64_t ravel(std::span<const int64_t> coordinates, std::span<const int64_t> sizes) {
  int64_t out = 0;
  for (size_t d = 0; d < sizes.size(); ++d) out = out * sizes[d] + coordinates[d];
  return out;
}

std::vector<int64_t> axis_sizes(const Mesh& mesh) {
  std::vector<int64_t> out;
  for (const MeshAxis& axis : mesh.axes) out.push_back(axis.size);
  return out;
}

}  // namespace axle
