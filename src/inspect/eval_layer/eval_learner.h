// Runs a learner, or an optimizer alone, on given parameters and gradients.
#pragma once

#include <optional>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "learn/learner.h"
#include "runtime/runtime.h"

namespace axle {

struct EvalLearnerOptions {
  /// Number of updates; none: as many as there are gradients.
  std::optional<int64_t> num_steps = {};
  /// Dtype that parameters and gradients are cast to first; none: not cast.
  std::optional<DType> dtype = {};
};

/// Applies updates. `inputs` holds
///   init/<path>      the initial parameters, unless `params` gives them
///   grad/<i>/<path>  the gradients of update i, from 0
///   state/<path>     the learner's state (Learner::state_specs); optional
/// The result holds
///   param/<i>/<path>  the parameters after update i
///   state/<path>      the state after the last update
///   <metric>          each metric of the learner, f32[updates]
/// Throws ConfigError for extra and misshapen tensors, DataError for missing ones.
Tree<HostTensor> eval_learner(const Child<Learner>& config,
                              const std::optional<Tree<HostTensor>>& params,
                              const Tree<HostTensor>& inputs, const EvalLearnerOptions& options,
                              Runtime& runtime);

}  // namespace axle
