// Meshes and the devices that there are.
#pragma once

#include <optional>
#include <string_view>

#include "ir/mesh.h"
#include "runtime/runtime.h"

namespace axle {

/// Throws ConfigError unless one machine may have so many devices: 1 to 1,024, for virtual ones
/// take threads.
void check_device_count(std::string_view where, int64_t num_devices);

/// As many devices as the mesh names; one where an axis of size -1 leaves that open.
int64_t mesh_devices(const Mesh& mesh);

/// The mesh over all devices of `topology`, without an open axis. Throws ConfigError if they are
/// not as many as `asked` for by --devices, and as infer_mesh does.
Mesh mesh_over(const Mesh& mesh, const Topology& topology, std::optional<int64_t> asked);

}  // namespace axle
