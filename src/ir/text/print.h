// Regions as text, for people and for tests of program structure.
#pragma once

#include <string>

#include "ir/tensor.h"

namespace axle {

/// Prints one op per line: "%3 = add %1, %2 : f32[4] @decoder/layers [backward]". Nested regions
/// are indented. The parameters and ops of each region are numbered in their order.
std::string print(const Region& region);

/// Counts the ops called `name` in the region and in all regions nested in it.
int64_t count_ops(const Region& region, std::string_view name);

}  // namespace axle
