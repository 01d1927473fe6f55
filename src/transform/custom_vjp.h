// Functions with a custom gradient, for functions where the rules of their ops give a gradient that
// is slow, unstable or badly sharded.
#pragma once

#include <functional>
#include <string>

#include "transform/trace.h"

namespace axle {

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
