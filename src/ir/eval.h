// The reference interpreter: runs a region on host tensors, op by op. The oracle of every other
// execution.
#pragma once

#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// `arguments` match the region's parameters in order; in f64 mode floats are converted on the way
/// in and results stay f64. Throws InternalError on a mismatch of types.
std::vector<HostTensor> evaluate(const Region& region, std::vector<HostTensor> arguments,
                                 const EvalOptions& options = {});

/// The most bytes that evaluate() holds at once, its arguments and results included.
int64_t eval_peak_bytes(const Region& region);

}  // namespace axle
