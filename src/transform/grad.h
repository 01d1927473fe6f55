// Reverse-mode differentiation of traced functions.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ir/op_rules.h"
#include "transform/trace.h"

namespace axle {

/// Computes fn(arguments) in the current trace, with a pullback: cotangents of the outputs (none =
/// zero) give those of the arguments; none where an argument has no influence. Only arguments
/// marked in `active` (empty: all) of a floating-point dtype are differentiated.
Linearized vjp(const TensorFunction& fn, const Values& arguments,
               const std::vector<bool>& active = {});

/// Outputs of fn and the gradient of its first output, a scalar, by each argument (zeros where it
/// has no influence; none for integers). The other outputs are auxiliary.
std::pair<Values, Values> value_and_grad(const TensorFunction& fn, const Values& arguments);

}  // namespace axle
