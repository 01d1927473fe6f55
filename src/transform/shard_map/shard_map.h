// Programs written per device: a function over the parts of tensors that each device holds, which
// calls collectives (ops/collectives) by the names of mesh axes.
#pragma once

#include <string>
#include <vector>

#include "ir/devices/mesh.h"
#include "transform/trace.h"

namespace axle {

struct ShardMapOptions {
  /// The mesh of the program.
  Mesh mesh = {};
  /// How each argument and each output is divided. A dim that names no manual axis is not divided.
  std::vector<PartitionSpec> in_specs = {}, out_specs = {};
  /// The axes that are manual; empty: all axes of the mesh. Over the others, the partitioner
  /// divides the work as anywhere else.
  DimAxes axes = {};
};

/// Computes fn on every device, over its parts of the arguments, and returns the tensors of which
/// the outputs are parts. An output must be the same on all devices along manual axes that its
/// spec does not name. fn may use outer tensors; every device gets them whole.
///
/// Differentiation follows JAX's shard_map without replication checks: the cotangent of an output
/// is divided by the number of devices that hold copies of it, and the cotangents of an argument
/// are summed over the devices that got copies of it.
/// Throws ShapeError if specs do not fit, or name axes that are not manual.
Values shard_map(const TensorFunction& fn, const Values& arguments, const ShardMapOptions& options);

}  // namespace axle
