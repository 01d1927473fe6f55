// Host tensors as the arguments of a program, each bound to the input of its name.
#pragma once

#include "base/tree.h"
#include "runtime/runtime.h"

namespace axle {

/// Appends to `arguments`, which hold the program's leading inputs, arrays of `values` for all
/// inputs behind them, laid over the program's mesh as it wants them. Throws ShapeError, naming
/// program and input, unless `values` holds exactly these inputs in their types.
void append_by_name(Arrays& arguments, const Tree<HostTensor>& values, const Program& program,
                    Runtime& runtime);

}  // namespace axle
