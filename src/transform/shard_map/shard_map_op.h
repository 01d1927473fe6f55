// The shard_map op: its attributes, which the files of its rules share, and its row.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/op_rules.h"

namespace axle {

/// Attributes of a shard_map. The body takes parts of the inputs and returns parts of the results.
struct ShardMapAttributes : Attributes {
  std::vector<MeshAxis> axes;  // the manual axes, without those of size 1
  std::vector<PartitionSpec> in_specs, out_specs;
  std::string text() const override;
  /// Returns the number of devices along the manual axes.
  int64_t num_devices() const;
  /// Returns the mesh of the manual axes alone.
  Mesh mesh() const { return {axes}; }
  /// Returns the manual axes that a spec does not name: along them, devices hold copies.
  std::vector<MeshAxis> axes_of_copies(const PartitionSpec& spec) const;
};

/// Throws ShapeError unless the spec names axes of `mesh` only, each once, and divides the shape.
/// `what` names the tensor. `is_part`: the shape is that of a part, which may have any size.
void check_spec(const PartitionSpec& spec, const Mesh& mesh, const std::string& what,
                const Shape& shape, bool is_part);

/// Returns the type of the part of a tensor on one device, or of the tensor with such parts.
Type part_type(Type whole, const PartitionSpec& spec, const Mesh& mesh);
Type whole_type(Type part, const PartitionSpec& spec, const Mesh& mesh);

/// Emits a shard_map over a closed body.
Values emit_shard_map(std::shared_ptr<const Region> body, Values inputs,
                      const ShardMapAttributes& attributes);

}  // namespace axle
