// The shapes of the TPU slices that exist.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "targets/accelerators.h"

namespace axle {

/// Returns the slice with `num_devices` devices. If there are several, it is the one nearest to a
/// cube; none if there is no such slice.
std::optional<std::vector<int64_t>> slice_of(const Accelerator& accelerator, int64_t num_devices);

/// Returns `shape` with its dims in the order in which the accelerator's slices are written; none
/// if there is no such slice.
std::optional<std::vector<int64_t>> known_slice(const Accelerator& accelerator,
                                                std::vector<int64_t> shape);

/// Describes the existing slices by shape: "2x2x1, 2x2x2 or three multiples of 4 with a product of
/// at most 6144".
std::string slice_shapes_text(const Accelerator& accelerator);
/// Describes the existing slices by size, in the unit of machine types (cores, where a device has
/// several): "8, 16, 32, 64 or a multiple of 128 up to 12288".
std::string slice_sizes_text(const Accelerator& accelerator);

/// Returns "4x8x8" for {4, 8, 8}.
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace axle
