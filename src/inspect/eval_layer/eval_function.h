// Schedules and other functions of one tensor on given values: eval-layer's modules without
// parameters.
#pragma once

#include <optional>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "layers/feed_forward/activation.h"
#include "learn/schedule.h"
#include "runtime/runtime.h"

namespace axle {

struct EvalFunctionOptions {
  /// Of a schedule without inputs: the values at steps 0 to num_steps - 1.
  std::optional<int64_t> num_steps = {};
  /// Of an activation: also "grad/in/x" at "cotangent/0".
  bool grad = false;
  /// Of an activation: floating-point inputs are cast to it first; none: as they are.
  std::optional<DType> dtype = {};
};

/// {"in/step": steps, i32 or f32} -> {"out": the value at each step, same shape}. Throws
/// ConfigError for other inputs.
Tree<HostTensor> eval_schedule(const Schedule& schedule, const Tree<HostTensor>& inputs,
                               const EvalFunctionOptions& options, Runtime& runtime);
/// {"in/x": any} -> {"out": fn(x)}. Throws ConfigError for other inputs.
Tree<HostTensor> eval_activation(const Activation& fn, const Tree<HostTensor>& inputs,
                                 const EvalFunctionOptions& options, Runtime& runtime);

}  // namespace axle
