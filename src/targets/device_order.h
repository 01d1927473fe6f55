// The assignment of devices to the positions of a mesh. Programs are compiled for this assignment
// and arrays are laid out by it.
//
// Devices that the fast network joins (a TPU slice, a GPU node) form a group. The `across` parts of
// the mesh axes run over the groups. If the mesh names no such parts, its first axes provide them.
//
// Within a group the devices keep the plugin's order, except within a TPU slice, whose devices form
// a box of links. There each mesh axis takes whole dims of the box, up to its size; the
// last axis chooses first. Axes that find no whole dims share the dims that are left, the largest
// dim first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/devices/mesh.h"
#include "runtime/runtime.h"

namespace axle {

/// Returns, for each position of `mesh` in row-major order, the index of its device in
/// `topology.devices`. Throws DeviceError if there are fewer devices than positions, and
/// ConfigError if the `across` parts do not divide the number of slices or nodes.
std::vector<size_t> device_order(const Topology& topology, const Mesh& mesh);

/// Returns device_order as device ids: the device assignment that a program is compiled with.
std::vector<int64_t> device_ids(const Topology& topology, const Mesh& mesh);

/// Returns, for each position of `mesh` in row-major order, the number of its device's slice or
/// node. The fast network joins devices with equal numbers.
std::vector<int64_t> fast_groups(const Topology& topology, const Mesh& mesh);

/// Maps mesh axes of the sizes `axes` onto a box of links with the dims `box`. Element i of the
/// result is the row-major position in the box for row-major position i of the axes. The products
/// of `box` and `axes` must be equal.
std::vector<size_t> box_order(std::span<const int64_t> box, std::span<const int64_t> axes);

}  // namespace axle
