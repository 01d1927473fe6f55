// Rematerialisation: the backward pass recomputes values of a function instead of keeping them.
#pragma once

#include <string>
#include <vector>

#include "transform/partition.h"
#include "transform/trace.h"

namespace axle {

/// Decides which forward values of a remat region are kept, besides its inputs.
struct RematPolicy {
  ResidualPolicy decide;
  std::string text;                     // for printing
  std::vector<std::string> names = {};  // patterns; each must match a tag in the region
};
/// Keeps no values: everything is recomputed.
RematPolicy save_nothing();
/// Keeps the values that name(x, tag) tagged with one of these names. Values tagged with a name of
/// `offload` are kept in host memory. "*" and "?" match as in file names. Names in both lists are
/// kept on the device.
RematPolicy save_names(std::vector<std::string> patterns, std::vector<std::string> offload = {});
/// Keeps the results of dot_general ops.
RematPolicy save_dots();

/// Computes fn(arguments). When differentiated, it stores only the values that the policy keeps.
/// `prevent_cse` puts a barrier before the recomputation, so that the compiler does not undo it by
/// CSE; inside the body of a scan it is not needed. Throws ConfigError if a name of the policy
/// matches no tag in fn.
Values remat(const TensorFunction& fn, const Values& arguments, const RematPolicy& policy,
             bool prevent_cse = true);

}  // namespace axle
