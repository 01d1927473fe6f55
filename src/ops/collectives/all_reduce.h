// Collectives that reduce over devices. Call them inside of shard_map, with names of its manual
// axes. Axes of size 1 are left out; if no axis is left, a collective returns x.
#pragma once

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// Returns the sum of x over the devices of each group, on all of them. Throws ShapeError for an
/// axis that is not manual, as all functions of this folder do.
Tensor psum(const Tensor& x, const DimAxes& axes);
/// Returns psum divided by the number of devices: a float of the dtype of `mean` for integers too.
Tensor pmean(const Tensor& x, const DimAxes& axes);
/// Returns the maximum over the devices of each group. Devices that have it share its gradient.
Tensor pmax(const Tensor& x, const DimAxes& axes);
Tensor pmin(const Tensor& x, const DimAxes& axes);

/// Returns the position of the device in its group, an i32 scalar: row-major over the axes.
Tensor axis_index(const DimAxes& axes);
/// Returns the number of devices in a group.
int64_t axis_size(const DimAxes& axes);

}  // namespace axle
