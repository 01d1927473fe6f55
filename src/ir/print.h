// Regions as text, for people and for structure tests.
#pragma once

#include <string>

#include "ir/tensor.h"

namespace axle {

/// One op a line: "%3 = add %1, %2 : f32[4] @decoder/layers [backward]"; nested regions are
/// indented.
std::string print(const Region& region);

/// Number of ops called `name` in the region and all regions within.
int64_t count_ops(const Region& region, std::string_view name);

}  // namespace axle
