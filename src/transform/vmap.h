// Vectorisation: turns a function of one example into a function of a batch.
#pragma once

#include <optional>
#include <vector>

#include "ir/devices/mesh.h"
#include "transform/trace.h"

namespace axle {

struct VmapOptions {
  /// For each argument the dim that runs over the batch; none: every example gets the whole
  /// argument. Empty: dim 0 of all arguments.
  std::vector<std::optional<int64_t>> in_axes = {};
  /// For each output the dim at which the batch is put; none: the output is the same for all
  /// examples. Empty: dim 0 of all outputs.
  std::vector<std::optional<int64_t>> out_axes = {};
  /// Number of examples. Needed only if no argument has a batch dim.
  std::optional<int64_t> axis_size = {};
  /// Mesh axes over which the batch is sharded. Sharding constraints in the function get them for
  /// the batch dim. Empty: that dim is left to the partitioner.
  DimAxes mesh_axes = {};
};

/// Computes fn for each example of a batch, in one pass over all. `fn` sees arguments without their
/// batch dim. It may use outer tensors, which are the same for all examples. A random key that is
/// the same for all examples gives all of them the same numbers.
///
/// Throws ShapeError if batch dims differ, if an argument has no such dim, or if an output differs
/// between examples although its out_axis is none.
Values vmap(const TensorFunction& fn, const Values& arguments, const VmapOptions& options = {});

}  // namespace axle
