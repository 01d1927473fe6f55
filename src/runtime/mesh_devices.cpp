#include "runtime/mesh_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace axle {

int64_t mesh_devices(const Mesh& mesh) {
  const bool open = std::ranges::any_of(mesh.axes, [](const MeshAxis& a) { return a.size < 0; });
  return open ? 1 : mesh.num_devices();
}

Mesh mesh_over(const Mesh& mesh, const Topology& topology, std::optional<int64_t> asked) {
  const auto there = static_cast<int64_t>(topology.devices.size());
  if (asked && *asked != there) {
    throw ConfigError(
        fmt::format("--devices: expected {}, as many as {} has here, got {}; leave it out", there,
                    topology.platform, *asked));
  }
  return infer_mesh(mesh, there);
}

}  // namespace axle
