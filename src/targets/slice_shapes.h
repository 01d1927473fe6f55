// Which slices of TPUs exist: a number of devices has one shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "targets/target.h"

namespace axle {

/// The slice of that many devices, the nearest to a cube where there are several; none if there is
/// no such slice.
std::optional<std::vector<int64_t>> slice_of(const Accelerator& accelerator, int64_t num_devices);

/// The shape as the accelerator's slices write it, its dims in order; none if there is no such
/// slice.
std::optional<std::vector<int64_t>> known_slice(const Accelerator& accelerator,
                                                std::vector<int64_t> shape);

/// "2x2x1, 2x2x2 or three multiples of 4 with a product of at most 6144".
std::string slice_shapes_text(const Accelerator& accelerator);
/// The same in what machine types count: "8, 16, 32, 64 or a multiple of 128 up to 12288".
std::string slice_sizes_text(const Accelerator& accelerator);

/// "4x8x8".
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace axle
