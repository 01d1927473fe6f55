// Checks the invariants of finished regions.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Checks that operands are defined before use inside the same region, that inferred types equal
/// the recorded ones, and that nested regions are closed. Throws InternalError naming the op.
/// Transforms call it in debug builds.
void verify(const Region& region);

/// Calls verify in debug builds (without NDEBUG).
inline void verify_in_debug([[maybe_unused]] const Region& region) {
#ifndef NDEBUG
  verify(region);
#endif
}

}  // namespace axle
