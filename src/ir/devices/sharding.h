// The shard of a tensor that each device of a mesh holds, and copying between whole tensors and
// shards.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle {

/// A box within a tensor.
struct Slice {
  Shape start;
  Shape size;
  bool operator==(const Slice&) const = default;
};

/// Returns `spec` reduced to what matters on `mesh`: one entry per dim, with only the axes of
/// size > 1. `spec` must fit the tensor (check_partition).
PartitionSpec canonical_sharding(const PartitionSpec& spec, int64_t rank, const Mesh& mesh);

/// Returns the slice of each device, in the row-major order of the mesh. Replicas have equal
/// slices. Throws ConfigError, with `name` as the tensor's name, if `spec` does not fit
/// (check_partition).
std::vector<Slice> shard_slices(const Shape& dims, const PartitionSpec& spec, const Mesh& mesh,
                                std::string_view name = "tensor");

/// True if the slice is contiguous in a row-major tensor of `dims`. An empty slice is contiguous.
bool is_contiguous(const Slice& slice, const Shape& dims);
/// Returns the offset, in elements, of the slice's first element in a row-major tensor of `dims`.
int64_t offset_of(const Slice& slice, const Shape& dims);

HostTensor extract(const HostTensor& whole, const Slice& slice);
void insert(HostTensor& whole, const Slice& slice, const HostTensor& part);

// Manual mesh axes: while the body of a shard_map is traced, code sees the part of each tensor that
// one device holds, and calls collectives by the names of these axes.

/// While alive, `axes` of the mesh are manual on this thread, besides axes of enclosing scopes.
class ManualAxes {
 public:
  /// Returns the position of the current device along the axis: an i32[1].
  using Index = std::function<Tensor(const MeshAxis& axis)>;

  ManualAxes(std::vector<MeshAxis> axes, Index index);
  ~ManualAxes();
  ManualAxes(const ManualAxes&) = delete;
  ManualAxes& operator=(const ManualAxes&) = delete;

  /// Returns the manual axes of these names, the axes of the innermost scope first. "data" also
  /// stands for axes with that role ("replica:data"). Axes of size 1 are left out. Throws
  /// ShapeError, naming `op` and its operands, for other names.
  static std::vector<MeshAxis> named(std::string_view op, const DimAxes& names,
                                     const Values& operands = {});
  /// Returns the position of the current device along the axis: an i32[1].
  static Tensor index(const MeshAxis& axis);
  /// Returns all manual axes of this thread, also those of size 1.
  static std::vector<MeshAxis> all();
  /// Returns true if the axis is manual on this thread.
  static bool contains(std::string_view axis);

 private:
  std::vector<MeshAxis> axes_;
  Index index_;
  const ManualAxes* outer_;
};

}  // namespace axle
