// Arguments of a program: checked against its signature, and bound to its inputs by name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tree.h"
#include "lower/stablehlo.h"
#include "runtime/runtime.h"

namespace axle {

/// Throws ShapeError, naming program and argument, unless the number of arguments is that of the
/// inputs, each argument has the type of its input, and no donated array is passed twice.
void check_arguments(const std::string& program, std::span<const ProgramValue> inputs,
                     std::span<const ArrayPtr> arguments);

/// Throws DeviceError for the use of an array that was donated to program `taken_by`.
[[noreturn]] void throw_donated(const Type& type, const std::string& taken_by);

/// Appends arrays of `values` to `arguments`, which already holds the first inputs of the program.
/// Each value is sharded over the program's mesh as its input requires. Throws ShapeError, naming
/// program and input, unless `values` holds exactly the remaining inputs with their types.
void append_by_name(Arrays& arguments, const Tree<HostTensor>& values, const Program& program,
                    Runtime& runtime);

}  // namespace axle
