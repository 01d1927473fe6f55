// Schedules and other functions of one tensor on given values: eval-layer's modules without
// parameters.
#pragma once

#include <optional>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "learn/schedule.h"
#include "runtime/runtime.h"

namespace axle {

struct EvalFunctionOptions {
  /// Without inputs: the values at steps 0 to num_steps - 1.
  std::optional<int64_t> num_steps = {};
  /// Also "grad/in/x" at "cotangent/0".
  bool grad = false;
  /// Floating-point inputs are cast to it first; none: as they are.
  std::optional<DType> dtype = {};
};

/// {"in/step": steps, i32 or f32} -> {"out": the value at each step, same shape}, as a schedule is
/// called; {"in/x": any} -> {"out": fn(x)}, as an activation is. Throws ConfigError for other
/// inputs.
Tree<HostTensor> eval_function(const Schedule& fn, const Tree<HostTensor>& inputs,
                               const EvalFunctionOptions& options, Runtime& runtime);

}  // namespace axle
