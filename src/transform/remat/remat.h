// Rematerialisation: the backward pass recomputes values of a function instead of keeping them.
#pragma once

#include "transform/remat/remat_policy.h"
#include "transform/trace.h"

namespace axle {

/// Computes fn(arguments). When differentiated, it stores only the values that the policy keeps.
/// `prevent_cse` puts a barrier before the recomputation, so that the compiler does not undo it by
/// CSE; inside the body of a scan it is not needed. Throws ConfigError if a name of the policy
/// matches no tag in fn.
Values remat(const TensorFunction& fn, const Values& arguments, const RematPolicy& policy,
             bool prevent_cse = true);

}  // namespace axle
