// Which device stands where in a mesh: the order that programs are compiled for and arrays are laid
// out in.
//
// Slow network first: devices that a fast network joins (a TPU slice, a GPU node) form a group, and
// the `across` parts of the mesh axes run over the groups; a mesh that names no such parts gets
// them from its first axes. Within a TPU slice, whose devices form a box of links, each axis takes
// whole dims of the box: the last axis chooses first, as many dims as its size allows. Axes that
// find no whole dims share those that are left, the largest dim first. Elsewhere devices keep the
// plugin's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/mesh.h"
#include "runtime/runtime.h"

namespace axle {

/// For each position of `mesh`, row-major, the index of its device in `topology.devices`. Throws
/// DeviceError if there are fewer devices than positions, ConfigError if the parts across do not
/// divide the slices or nodes.
std::vector<size_t> device_order(const Topology& topology, const Mesh& mesh);

/// The same as ids of devices: the assignment that a program is compiled with.
std::vector<int64_t> device_ids(const Topology& topology, const Mesh& mesh);

/// For each position of `mesh`, row-major, the slice or node of its device: the devices of equal
/// numbers are joined by the fast network.
std::vector<int64_t> fast_groups(const Topology& topology, const Mesh& mesh);

/// Positions of a box of links for axes of the given sizes: element i is the row-major position in
/// the box of row-major position i of the axes. Both products are equal.
std::vector<size_t> box_order(std::span<const int64_t> box, std::span<const int64_t> axes);

}  // namespace axle
