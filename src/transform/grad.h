// Differentiation of traced functions.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ir/op_rules.h"
#include "transform/trace.h"

namespace axle {

/// Computes fn(arguments) in the current trace and returns the outputs with a pullback. The
/// pullback maps cotangents of the outputs (none = zero) to cotangents of the arguments (none if an
/// argument has no influence). It differentiates the floating-point arguments marked in `active`
/// (empty: all floating-point arguments). The pullback throws ShapeError unless it gets one
/// cotangent for each output, of its type, and none for integers.
Linearized vjp(const TensorFunction& fn, const Values& arguments,
               const std::vector<bool>& active = {});

/// Returns the outputs of fn and the gradients of its first output with respect to the arguments.
/// The first output must be a scalar; the others are auxiliary. The gradient is zeros if an
/// argument has no influence, and none for integers.
std::pair<Values, Values> value_and_grad(const TensorFunction& fn, const Values& arguments);

/// Forward mode: returns the outputs of fn and their derivatives in the direction of the tangents.
/// There is one tangent for each argument, of its type; none stands for zero. The derivative of an
/// integer output is none.
///
/// Computed as the vjp of the pullback, which is linear. So it needs no rules of its own, and works
/// through loops and remat. Only ops without reverse mode have a rule (OpRow::push_forward): a
/// while_loop runs once, with the tangents beside its carry.
std::pair<Values, Values> jvp(const TensorFunction& fn, const Values& arguments,
                              const Values& tangents);

}  // namespace axle
