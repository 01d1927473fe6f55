// A learner, or an optimizer alone, on given parameters and gradients.
#pragma once

#include <optional>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "learn/learner.h"
#include "runtime/runtime.h"

namespace axle {

struct EvalLearnerOptions {
  /// Updates to make; none: as many as there are gradients.
  std::optional<int64_t> num_steps = {};
  /// Parameters and gradients are cast to it first; none: as they are.
  std::optional<DType> dtype = {};
};

/// Makes updates. `params`, or "init/<path>" of `inputs`, is what they start from;
/// "grad/<i>/<path>" are the gradients of update i, from 0; "state/<path>" is the learner's state
/// (Learner::state_specs), the initial one where none is given. The result has
/// "param/<i>/<path>" after update i, "state/<path>" after the last, and the learner's metrics by
/// name, f32[updates]. Throws ConfigError for missing, extra and misshapen tensors.
Tree<HostTensor> eval_learner(const Child<Learner>& config,
                              const std::optional<Tree<HostTensor>>& params,
                              const Tree<HostTensor>& inputs, const EvalLearnerOptions& options,
                              Runtime& runtime);

}  // namespace axle
