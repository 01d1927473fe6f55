// Numbers of configs as devices have them.
#pragma once

#include <string_view>

namespace axle {

/// Layers and learners compute in f32 at most: what is neither zero nor a normal f32, and so would
/// be zero or infinite there, is refused for every field, be it a double.
bool fits_device(double v);
inline constexpr std::string_view kFitsDevice = "a number that fits into 32 bits";

}  // namespace axle
