// Checks the invariants of finished regions.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Checks that operands are defined before use inside the same region, that each op infers its
/// recorded types, and that nested regions are closed. The infer rule of an op with regions also
/// checks that they fit its operands and its attributes. Throws InternalError naming the op.
/// Transforms call it in debug builds.
void verify(const Region& region);

/// Calls verify in debug builds (without NDEBUG).
inline void verify_in_debug([[maybe_unused]] const Region& region) {
#ifndef NDEBUG
  verify(region);
#endif
}

}  // namespace axle
