// Derivatives, and functions with derivatives of their own.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/op_rules.h"
#include "transform/trace.h"

namespace axle {

// Differentiation of traced functions.

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

// Functions with a custom gradient, for functions where the rules of their ops give a gradient that
// is slow, unstable or badly sharded.

/// The outputs of a function, and the residuals that its backward pass needs.
struct WithResiduals {
  Values outputs;
  Values residuals;
};

/// The forward and the backward function of a custom_vjp.
struct CustomVjp {
  std::string name;  // for printed graphs and errors
  /// Computes the outputs and the residuals. A remat around the differentiated function sees these
  /// ops: residuals that its policy may keep must carry a `name`.
  std::function<WithResiduals(const Values& arguments)> forward;
  /// Returns one cotangent for each argument, of its type; none if the argument has no influence.
  /// Takes one cotangent for each output; missing ones are zeros. May use no tensors besides its
  /// arguments.
  std::function<Values(const Values& residuals, const Values& cotangents)> backward;
  /// Where the rule is written, for errors. An empty file leaves the place out.
  const char* file = __builtin_FILE();
  int line = __builtin_LINE();
};

/// Returns the outputs of rule.forward(arguments), with rule.backward as their gradient.
///
/// Differentiation throws ShapeError, which names the place of the rule, if the cotangents do not
/// fit the arguments. It also throws if the forward function captures an outer tensor that is
/// differentiated: such a tensor must be an argument.
Values custom_vjp(const CustomVjp& rule, const Values& arguments);

}  // namespace axle
