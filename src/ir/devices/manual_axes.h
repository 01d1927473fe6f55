// Manual mesh axes: while the body of a shard_map is traced, code sees the part of each tensor that
// one device holds, and calls collectives by the names of these axes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// While alive, `axes` of the mesh are manual on this thread, besides those of enclosing scopes.
class ManualAxes {
 public:
  /// Returns the position of the current device along the axis: an i32[1].
  using Index = std::function<Tensor(const MeshAxis& axis)>;

  ManualAxes(std::vector<MeshAxis> axes, Index index);
  ~ManualAxes();
  ManualAxes(const ManualAxes&) = delete;
  ManualAxes& operator=(const ManualAxes&) = delete;

  /// Returns the manual axes of these names, those of the innermost scope first. "data" also stands
  /// for axes with that role ("replica:data"). Axes of size 1 are left out. Throws ShapeError,
  /// naming `op` and its operands, for other names.
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
