#include "runtime/mesh_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace axle {

void check_device_count(std::string_view where, int64_t num_devices) {
  constexpr int64_t kMax = 1024;  // far more than any machine has
  if (num_devices >= 1 && num_devices <= kMax) return;
  throw ConfigError(
      fmt::format("{}: expected 1 to {} devices of one machine, got {}", where, kMax, num_devices));
}

int64_t num_mesh_devices(const Mesh& mesh) {
  const bool open = std::ranges::any_of(mesh.axes, [](const MeshAxis& a) { return a.size < 0; });
  return open ? 1 : mesh.num_devices();
}

Mesh fit_mesh(const Mesh& mesh, const Topology& topology, std::optional<int64_t> asked) {
  const auto num_present = std::ssize(topology.devices);
  if (asked && *asked != num_present) {
    throw ConfigError(fmt::format(
        "--devices: expected {}, the number of {} devices here, got {}; leave out --devices",
        num_present, topology.platform, *asked));
  }
  return infer_mesh(mesh, num_present);
}

}  // namespace axle
