// Checks the invariants of finished regions.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Checks that operands are defined before use inside the same region, that each op infers its
/// recorded types, and that nested regions are closed. The infer rule of an op with regions also
/// checks that they fit its operands and its attributes. Throws InternalError naming the op.
/// Transforms call it through verify_if_asked.
void verify(const Region& region);

/// Checks the phases in a joint region (transform/remat/partition.h): nothing of the forward part
/// uses a value of the backward part. The forward part has the first `num_parameters` parameters,
/// the ops of Phase::kForward and the first `num_results` results. Outside of joint regions phases
/// have no meaning. Throws InternalError naming the op.
void verify_phases(const Region& region, size_t num_parameters, size_t num_results);

/// Call verify, or both, where the environment variable AXLE_VERIFY is 1: tests and searches for
/// a fault of a transform set it. Otherwise they do nothing.
void verify_if_asked(const Region& region);
void verify_joint_if_asked(const Region& region, size_t num_parameters, size_t num_results);

}  // namespace axle
