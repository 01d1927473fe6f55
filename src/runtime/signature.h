// The check, shared by all runtimes, that the arguments of a run fit the program's signature.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lower/trace_program.h"
#include "runtime/runtime.h"

namespace axle {

/// Throws ShapeError, naming program and argument, unless the number of arguments is that of the
/// inputs, each argument has the type of its input, and no donated array is passed twice.
void check_arguments(const std::string& program, std::span<const ProgramValue> inputs,
                     std::span<const ArrayPtr> arguments);

/// Throws DeviceError for the use of an array that was donated to program `taken_by`.
[[noreturn]] void throw_donated(const Type& type, const std::string& taken_by);

}  // namespace axle
