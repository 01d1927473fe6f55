// Functions with a gradient of their own, for where the rules of their ops would give one that is
// slow, unstable or badly laid out.
#pragma once

#include <functional>
#include <string>

#include "transform/trace.h"

namespace axle {

/// What a function computes, and what its backward pass will need of it.
struct WithResiduals {
  Values outputs;
  Values residuals;
};

struct CustomVjp {
  std::string name;  // in printed graphs and errors
  /// Seen by remat policies when differentiated: residuals that they may keep carry a `name`.
  std::function<WithResiduals(const Values& arguments)> forward;
  /// One cotangent for each argument, of its type; none where there is no influence. Takes one for
  /// each output (zeros where there was none) and uses no tensors but these two.
  std::function<Values(const Values& residuals, const Values& cotangents)> backward;
};

/// The outputs of rule.forward(arguments); differentiated by rule.backward. Throws ShapeError while
/// differentiating if the cotangents do not fit the arguments, or if the forward function uses an
/// outer tensor that is differentiated and no argument.
Values custom_vjp(const CustomVjp& rule, const Values& arguments);

}  // namespace axle
