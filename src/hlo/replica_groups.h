// The replica groups of a collective, in the forms that XLA writes them, and the mesh axes that
// they run along.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace axle {

struct Mesh;

/// Groups of devices, given by their positions in the row-major order of the program's mesh.
using ReplicaGroups = std::vector<std::vector<int64_t>>;
/// Pairs of a sending and a receiving device.
using SourceTargets = std::vector<std::pair<int64_t, int64_t>>;

/// Decodes a ReplicaGroup message: the devices of one group. Throws DataError.
std::vector<int64_t> decode_group(std::string_view replica_group);
/// Decodes an IotaReplicaGroupListProto: the device numbers 0, 1, ... reshaped, transposed and cut
/// into groups. Throws DataError.
ReplicaGroups decode_iota_groups(std::string_view message);
/// Decodes a MeshAxesReplicaGroupListProto: axes, or parts of axes, of XLA's own mesh. Throws
/// DataError.
ReplicaGroups decode_mesh_groups(std::string_view message);

/// Returns the axes of `mesh` that the groups run along, in the mesh's order: {"data", "model"}.
/// A part of an axis is written as Shardy's sub-axes are: "fsdp:(2)4" has pre-size 2 and size 4. If
/// no axes match the groups, the result is one text with the groups themselves: "{{0,3},{1,2}}".
/// The result is empty if there is no group or every group has one device.
std::vector<std::string> axes_of(const ReplicaGroups& groups, const Mesh& mesh);
/// Returns the axes of `mesh` along which the pairs move data.
std::vector<std::string> axes_of(const SourceTargets& pairs, const Mesh& mesh);

}  // namespace axle
