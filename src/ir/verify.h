// Checks the invariants of finished regions.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Checks that operands are defined before use inside the same region, that each op infers its
/// recorded types, and that nested regions are closed. The infer rule of an op with regions also
/// checks that they fit its operands and its attributes. Throws InternalError naming the op.
/// Transforms call it in debug builds.
void verify(const Region& region);

/// Checks the phases in a joint region (transform/remat/partition.h): nothing of the forward part
/// uses a value of the backward part. The forward part has the first `num_parameters` parameters,
/// the ops of Phase::kForward and the first `num_results` results. Outside of joint regions phases
/// have no meaning. Throws InternalError naming the op.
void verify_phases(const Region& region, size_t num_parameters, size_t num_results);

/// Calls verify in debug builds (without NDEBUG).
inline void verify_in_debug([[maybe_unused]] const Region& region) {
#ifndef NDEBUG
  verify(region);
#endif
}
/// Calls verify and verify_phases in debug builds (without NDEBUG).
inline void verify_joint_in_debug([[maybe_unused]] const Region& region,
                                  [[maybe_unused]] size_t num_parameters,
                                  [[maybe_unused]] size_t num_results) {
#ifndef NDEBUG
  verify(region);
  verify_phases(region, num_parameters, num_results);
#endif
}

}  // namespace axle
