// Rematerialisation: values of a function that the backward pass computes again instead of keeping
// them.
#pragma once

#include <string>
#include <vector>

#include "transform/partition.h"
#include "transform/trace.h"

namespace axle {

/// Which forward values of a remat region are kept, beside the inputs.
struct RematPolicy {
  ResidualPolicy judge;
  std::string text;                     // for printing
  std::vector<std::string> names = {};  // that a value of the region must carry, each
};
/// Everything is computed again.
RematPolicy save_nothing();
/// Keeps the values that were tagged with one of these names by name(x, tag), and in the host's
/// memory those of `offload`; "*" and "?" match as in file names. A name in both lists is kept on
/// the device.
RematPolicy save_names(std::vector<std::string> patterns, std::vector<std::string> offload = {});
/// Keeps the results of all products.
RematPolicy save_dots();

/// fn(arguments). When differentiated, only what the policy keeps is stored. `prevent_cse` puts a
/// barrier before the recomputation, so that the compiler does not undo it; inside the body of a
/// scan it is not needed. Throws ConfigError for a name of the policy that no value in fn carries.
Values remat(const TensorFunction& fn, const Values& arguments, const RematPolicy& policy,
             bool prevent_cse = true);

}  // namespace axle
