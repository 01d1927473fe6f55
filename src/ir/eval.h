// The reference interpreter: runs a region on host tensors, op by op. Tests compare every other
// execution with it.
#pragma once

#include <functional>
#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// Runs the region. `arguments` match its parameters in order. In f64 mode, floats are converted to
/// f64 on the way in and the results stay f64. Throws InternalError if the types do not match.
std::vector<HostTensor> evaluate(const Region& region, std::vector<HostTensor> arguments,
                                 const EvalOptions& options = {});
/// The same without copies of the arguments, which must live until it returns.
std::vector<HostTensor> evaluate_borrowing(const Region& region,
                                           std::span<const HostTensor* const> arguments,
                                           const EvalOptions& options = {});

/// The same; takes each result, by its number, as soon as no op needs it any more, in any order.
void evaluate_each(const Region& region, std::vector<HostTensor> arguments,
                   const std::function<void(size_t, HostTensor)>& take,
                   const EvalOptions& options = {});

/// Returns the most bytes that evaluate() holds at once, including its arguments and results.
int64_t eval_peak_bytes(const Region& region);

}  // namespace axle
