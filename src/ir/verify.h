// Checks the rules that every finished region obeys.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Operands are defined before use inside the same region, inferred types equal the recorded ones,
/// regions within are closed. Throws InternalError naming the op. Transforms call it in debug
/// builds.
void verify(const Region& region);

/// verify, where NDEBUG is not defined.
inline void verify_in_debug([[maybe_unused]] const Region& region) {
#ifndef NDEBUG
  verify(region);
#endif
}

}  // namespace axle
