// Functions of the program that are written once and called: for bodies that are used many times.
#pragma once

#include <string>

#include "transform/trace.h"

namespace axle {

/// fn(arguments) through a private function named after `name`; calls with equal bodies share it.
Values call(const std::string& name, const TensorFunction& fn, const Values& arguments);

}  // namespace axle
