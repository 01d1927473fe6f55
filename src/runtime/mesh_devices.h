// Fitting a mesh to the number of devices that are present.
#pragma once

#include <optional>
#include <string_view>

#include "ir/devices/mesh.h"
#include "runtime/runtime.h"

namespace axle {

/// Throws ConfigError unless `num_devices` is 1 to 1,024. The bound is for virtual devices, which
/// need threads.
void check_device_count(std::string_view where, int64_t num_devices);

/// Returns the number of devices of the mesh; 1 if an axis has size -1, which leaves it open.
int64_t num_mesh_devices(const Mesh& mesh);

/// Returns the mesh over all devices of `topology`, with an axis of size -1 filled in. Throws
/// ConfigError if `topology` does not have as many devices as --devices `asked` for, and what
/// infer_mesh throws.
Mesh fit_mesh(const Mesh& mesh, const Topology& topology, std::optional<int64_t> asked);

}  // namespace axle
