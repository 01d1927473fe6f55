// Which devices take part in a collective together, in the forms that XLA writes it, and the mesh
// axes that these groups run along.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/mesh.h"

namespace axle {

/// Groups of devices, by their positions in the row-major order of the program's mesh.
using ReplicaGroups = std::vector<std::vector<int64_t>>;
/// Devices that send and those that receive.
using SourceTargets = std::vector<std::pair<int64_t, int64_t>>;

/// Decodes one ReplicaGroup message: the devices of one group. Throws DataError, as the next two.
std::vector<int64_t> decode_group(std::string_view replica_group);
/// An IotaReplicaGroupListProto: the devices as an array that is reshaped, transposed and cut.
ReplicaGroups decode_iota_groups(std::string_view message);
/// A MeshAxesReplicaGroupListProto: axes, or parts of axes, of a mesh of XLA's own.
ReplicaGroups decode_mesh_groups(std::string_view message);

/// The axes of `mesh` that the groups run along, in the mesh's order: {"data", "model"}. Part of an
/// axis reads as Shardy writes it, "fsdp:(2)4" (after 2 parts, 4 devices). Groups that no axes
/// explain give one text with the groups themselves, "{{0,3},{1,2}}". No group, or groups of one
/// device: no axes.
std::vector<std::string> axes_of(const ReplicaGroups& groups, const Mesh& mesh);
/// The axes along which data moves.
std::vector<std::string> axes_of(const SourceTargets& pairs, const Mesh& mesh);

}  // namespace axle
