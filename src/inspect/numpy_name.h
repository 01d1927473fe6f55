// Dtypes for reports that other programs read.
#pragma once

#include <string_view>

#include "ir/dtype.h"

namespace axle {

/// "float32", "bfloat16", "bool": as NumPy and its extensions call it.
std::string_view numpy_name(DType dtype);

}  // namespace axle
