// The numbers in configs that devices can represent.
#pragma once

#include <string_view>

namespace axle {

/// True for zero and for values in the range of normal f32 numbers. Layers and learners compute in
/// f32 at most, where any other value would become zero or infinite; every field refuses it, even a
/// double.
bool fits_device(double v);
inline constexpr std::string_view kFitsDevice = "a number that fits into 32 bits";

}  // namespace axle
