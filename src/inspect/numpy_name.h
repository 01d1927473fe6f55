// Names of dtypes in reports that other programs read.
#pragma once

#include <string_view>

#include "ir/dtype.h"

namespace axle {

/// Returns the name that NumPy and its extensions use: "float32", "bfloat16", "bool".
std::string_view numpy_name(DType dtype);

}  // namespace axle
