// Device meshes, and how the dims of tensors are sharded over them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.h"

namespace axle {

/// One axis of a mesh. Size -1 stands for all devices that the other axes leave.
struct MeshAxis {
  std::string name = {};
  int64_t size = -1;
  /// Factor of the size that lies across the slow network, between slices or nodes. The other
  /// factor, size / across, lies within each slice or node.
  int64_t across = 1;
  bool operator==(const MeshAxis&) const = default;
};

/// Devices in row-major order over named axes, so that the last axes lie on the fastest network. No
/// axes means one device. In a hybrid mesh, an axis with `across` > 1 spans slices or nodes.
struct Mesh {
  std::vector<MeshAxis> axes = {};
  /// Returns the product of the sizes. Throws ConfigError if it overflows 64 bits.
  int64_t num_devices() const;
  /// Returns the size of the axis; 1 if the mesh lacks it.
  int64_t size(std::string_view axis) const;
  bool has(std::string_view axis) const;
  bool operator==(const Mesh&) const = default;
};

/// Writes the axes in order: "data=2,fsdp=-1"; "" for one device. "data=2x4" is an axis of size 8
/// with across = 2.
std::string to_text(const Mesh& mesh);
/// Reads what to_text prints. Axis names consist of letters, digits and '_'; "replica:data" is an
/// axis with the role of "data". Throws ConfigError.
void from_text(std::string_view text, Mesh& mesh);

/// Computes the size of the axis of size -1 from the number of devices. Throws ConfigError if the
/// product of the sizes is not the number of devices.
Mesh infer_mesh(Mesh mesh, int64_t num_devices);

/// The mesh axes of one dim. None: the dim is replicated. Several: it is sharded over their
/// product, and the first axis is the major one.
struct DimAxes : std::vector<std::string> {
  DimAxes() = default;
  DimAxes(const char* axis) : std::vector<std::string>{axis} {}  // implicit: reads as a value
  DimAxes(std::initializer_list<const char*> axes)
      : std::vector<std::string>(axes.begin(), axes.end()) {}
};
/// Returns the names of the axes.
DimAxes names_of(const std::vector<MeshAxis>& axes);
inline const DimAxes kReplicated = {};
/// In a sharding constraint: the partitioner decides over which axes to shard the dim.
inline const DimAxes kUnconstrained = {"?"};
/// Writes "None", "model" or "[expert, fsdp]".
std::string to_text(const DimAxes& axes);
/// Reads what to_text prints. Throws ConfigError.
void from_text(std::string_view text, DimAxes& axes);

/// The mesh axes of each dim of a tensor. Dims beyond the list are replicated.
struct PartitionSpec {
  std::vector<DimAxes> dims = {};
  bool operator==(const PartitionSpec&) const = default;
};

/// Returns the number of parts that a dim is divided into over `axes`: the product of their sizes
/// in `mesh`, at most the largest int64.
int64_t num_parts(const DimAxes& axes, const Mesh& mesh);
/// Returns the same for all dims of `spec` together.
int64_t num_parts(const PartitionSpec& spec, const Mesh& mesh);

/// Writes "[None, [expert, fsdp], model]".
std::string to_text(const PartitionSpec& spec);
/// Reads what to_text prints. Throws ConfigError.
void from_text(std::string_view text, PartitionSpec& spec);
/// Returns the spec without the axes that `mesh` lacks or has with size 1; dims are replicated over
/// those anyway. Replaces an axis that the mesh has by role ("replica:data" for "data").
PartitionSpec restrict(const PartitionSpec& spec, const Mesh& mesh);
/// Like restrict above, and also without the axes whose size does not divide the dim of `shape`:
/// the spec that a sharding constraint on a value may ask for.
PartitionSpec restrict(const PartitionSpec& spec, const Shape& shape, const Mesh& mesh);
/// Returns an axis that the spec names more than once; none if there is no such axis.
std::optional<std::string> axis_named_twice(const PartitionSpec& spec);
/// Throws ConfigError `<name>: ...` if the spec has more dims than `shape`, names an axis twice, or
/// shards a dim into a number of parts that does not divide it.
void check_partition(std::string_view name, const Shape& shape, const PartitionSpec& spec,
                     const Mesh& mesh);

/// Returns the coordinates of a position in a grid of `sizes`; the last coordinate varies fastest.
std::vector<int64_t> unravel(int64_t position, std::span<const int64_t> sizes);
/// Returns the position at these coordinates.
int64_t ravel(std::span<const int64_t> coordinates, std::span<const int64_t> sizes);

/// Returns the sizes of the mesh's axes: the shape of its device grid.
std::vector<int64_t> axis_sizes(const Mesh& mesh);

}  // namespace axle
