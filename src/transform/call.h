// Calls of private functions of the program. A body that is used many times is written once.
#pragma once

#include <string>

#include "transform/trace.h"

namespace axle {

/// Computes fn(arguments) by a call of a private function whose name starts with `name`. Calls with
/// equal names and bodies share one function.
Values call(const std::string& name, const TensorFunction& fn, const Values& arguments);

}  // namespace axle
