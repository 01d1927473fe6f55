// Codes of one scheme in another one.
#pragma once

#include "interop/foreign/tensor_source.h"

namespace axle {

/// Returns the same numbers in a scheme that holds those of `stored` (holds()); none if f16 cannot
/// hold an offset.
std::optional<StoredCodes> in_scheme(StoredCodes stored, const CodeScheme& wanted);

}  // namespace axle
