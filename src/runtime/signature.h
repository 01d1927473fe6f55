// What every runtime checks before it runs a program: that the arguments fit its signature.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lower/program.h"
#include "runtime/runtime.h"

namespace axle {

/// Throws ShapeError, naming program and argument, unless there are as many arguments as inputs,
/// each of its input's type, and none comes twice that is donated.
void check_arguments(const std::string& program, std::span<const ProgramValue> inputs,
                     std::span<const ArrayPtr> arguments);

/// Throws DeviceError: the array's value went to a result of program `taken_by`.
[[noreturn]] void throw_donated(const Type& type, const std::string& taken_by);

}  // namespace axle
