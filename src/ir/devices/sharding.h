// The shard of a tensor that each device of a mesh holds, and copying between whole tensors and
// shards.
#pragma once

#include <string_view>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/host_tensor.h"

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

}  // namespace axle
