// Device meshes and how the dims of a tensor are laid over them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.h"

namespace axle {

/// One axis of a mesh; size -1 means "whatever is left of the devices".
struct MeshAxis {
  std::string name = {};
  int64_t size = -1;
  /// Factor of the size that lies across the slow network, between slices or nodes; the rest lies
  /// within each of them.
  int64_t across = 1;
  bool operator==(const MeshAxis&) const = default;
};

/// Devices in row-major order over named axes, so that the last axes lie on the fastest network; no
/// axes means one device. A hybrid mesh splits an axis by `across`.
struct Mesh {
  std::vector<MeshAxis> axes = {};
  /// Product of the sizes. Throws ConfigError where it does not fit.
  int64_t num_devices() const;
  /// Size of the axis; 1 if the mesh does not have it.
  int64_t size(std::string_view axis) const;
  bool has(std::string_view axis) const;
  bool operator==(const Mesh&) const = default;
};

/// "data=2,fsdp=-1", in order; "" for one device. "data=2x4" is an axis of 8, 2 of it across.
std::string to_text(const Mesh& mesh);
/// Reads what to_text prints: names of letters, digits and '_'. Throws ConfigError.
void from_text(std::string_view text, Mesh& mesh);

/// Fills in the one axis of size -1 from the number of devices. Throws ConfigError if the sizes do
/// not multiply to it.
Mesh infer_mesh(Mesh mesh, int64_t num_devices);

/// Mesh axes of one dim: none = replicated, several = sharded over their product, the first is
/// major.
struct DimAxes : std::vector<std::string> {
  DimAxes() = default;
  DimAxes(const char* axis) : std::vector<std::string>{axis} {}  // NOLINT: reads as a value
  DimAxes(std::initializer_list<const char*> axes)
      : std::vector<std::string>(axes.begin(), axes.end()) {}
};
inline const DimAxes kReplicated = {};
/// "None", "model" or "[expert, fsdp]".
std::string to_text(const DimAxes& axes);
/// Reads what to_text prints. Throws ConfigError.
void from_text(std::string_view text, DimAxes& axes);

/// Mesh axes of each dim of a tensor; dims beyond the list are replicated.
struct PartitionSpec {
  std::vector<DimAxes> dims = {};
  bool operator==(const PartitionSpec&) const = default;
};

/// "[None, [expert, fsdp], model]".
std::string to_text(const PartitionSpec& spec);
/// Reads what to_text prints. Throws ConfigError.
void from_text(std::string_view text, PartitionSpec& spec);
/// The spec over the axes that `mesh` has with size > 1; the rest means replication there.
PartitionSpec restrict(const PartitionSpec& spec, const Mesh& mesh);
/// As restrict, and without the axes by which a dim of `shape` does not divide: what a constraint
/// on a value may ask for.
PartitionSpec restrict(const PartitionSpec& spec, const Shape& shape, const Mesh& mesh);
/// An axis that the spec names more than once; none if there is none.
std::optional<std::string> axis_named_twice(const PartitionSpec& spec);
/// Throws ConfigError `<name>: ...` if the spec has more dims than `shape`, names an axis twice, or
/// a dim does not divide by the sizes of its axes.
void check_partition(std::string_view name, const Shape& shape, const PartitionSpec& spec,
                     const Mesh& mesh);

}  // namespace axle
