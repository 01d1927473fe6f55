// Host tensors as arguments of a program, bound to its inputs by name.
#pragma once

#include "base/tree.h"
#include "runtime/runtime.h"

namespace axle {

/// Appends arrays of `values` to `arguments`, which already holds the first inputs of the program.
/// Each value is sharded over the program's mesh as its input requires. Throws ShapeError, naming
/// program and input, unless `values` holds exactly the remaining inputs with their types.
void append_by_name(Arrays& arguments, const Tree<HostTensor>& values, const Program& program,
                    Runtime& runtime);

}  // namespace axle
