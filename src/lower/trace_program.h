// Traces a function over named tensors and lowers it to a program.
#pragma once

#include <string>
#include <vector>

#include "lower/program.h"
#include "transform/taps/collect_taps.h"
#include "transform/trace.h"

namespace axle {

/// Traces `fn` over the inputs and lowers it. `outputs` names the results of `fn` in order. It is
/// read after `fn` has returned, so `fn` may append outputs while it is traced. Throws like
/// lower().
///
/// With `prints`, the values of debug_print become further outputs, and `prints` describes them.
/// Without it, and for all other taps, they are ignored.
Program trace_program(std::string name, const TensorFunction& fn, std::vector<ProgramValue> inputs,
                      const std::vector<ProgramValue>& outputs, const Mesh& mesh = {},
                      std::vector<CollectedTap>* prints = nullptr);

}  // namespace axle
