// Runs schedules and other functions of one tensor on given values: the subjects of eval-layer
// without parameters.
#pragma once

#include <optional>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "layers/feed_forward/activation.h"
#include "learn/schedule.h"
#include "runtime/runtime.h"

namespace axle {

struct EvalFunctionOptions {
  /// Schedules: compute the values at steps 0 to num_steps - 1. None: the steps are inputs.
  std::optional<int64_t> num_steps = {};
  /// Activations: also compute "grad/in/x" at "cotangent/0".
  bool grad = false;
  /// Activations: dtype that floating-point inputs are cast to first; none: not cast.
  std::optional<DType> dtype = {};
};

/// {"in/step": steps, i32 or f32} -> {"out": the value at each step, of the same shape}. Throws
/// ConfigError for other inputs.
Tree<HostTensor> eval_schedule(const Schedule& schedule, const Tree<HostTensor>& inputs,
                               const EvalFunctionOptions& options, Runtime& runtime);
/// {"in/x": any shape} -> {"out": fn(x)}. Throws ConfigError for other inputs, DataError for none.
Tree<HostTensor> eval_activation(const Activation& fn, const Tree<HostTensor>& inputs,
                                 const EvalFunctionOptions& options, Runtime& runtime);

}  // namespace axle
