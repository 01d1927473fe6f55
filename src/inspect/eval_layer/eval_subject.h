// What eval-layer evaluates: a layer, a function, or a learner.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/tree.h"
#include "inspect/eval_layer/eval_layer.h"
#include "inspect/eval_layer/eval_layer_files.h"
#include "ir/host_tensor.h"
#include "layers/feed_forward/feed_forward.h"
#include "learn/learner.h"
#include "learn/schedule.h"
#include "recipes/resolve/resolve.h"
#include "runtime/runtime.h"
#include "train/config/trainer_config.h"

namespace axle {

// Runs schedules and other functions of one tensor on given values: the subjects of eval-layer
// without parameters.

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

struct EvalLearnerOptions {
  /// Number of updates; none: as many as there are gradients.
  std::optional<int64_t> num_steps = {};
  /// Dtype that parameters and gradients are cast to first; none: not cast.
  std::optional<DType> dtype = {};
};

/// Applies updates. `inputs` holds
///   init/<path>      the initial parameters, unless `params` holds them
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

// The subject of `axle eval-layer`, described by a file: a layer, a schedule, an activation, a
// learner or the steps of a training run.

using EvalSubject = std::variant<LayerFile, Schedule, Activation, Child<Learner>, Trainer::Config>;

/// Reads YAML.
///   {class: Name, config: {...}}: a layer (also with dims: and options of its slot), a schedule or
///   activation, a learner, or an optimizer, which is put into a learner without transforms.
///   Anything else is a file of --config: a recipe with changes, or fields of a trainer such as
///   {model: ..., learner: ...}.
/// The changes that a file makes to a recipe are stored in `changes`. Throws ConfigError naming
/// `source`.
EvalSubject parse_eval_subject(std::string_view text, const std::string& source,
                               ResolveReport* changes = nullptr);

/// Reads the subject from a file, or takes the recipe of that name. Throws ConfigError if there is
/// neither.
EvalSubject read_eval_subject(const std::string& file_or_recipe, ResolveReport* changes = nullptr);

/// Returns "a layer", "a schedule", "an activation", "a learner" or "a training run".
std::string_view kind_of(const EvalSubject& subject);
/// Returns which sections of a file of inputs the subject reads.
InputSections input_sections(const EvalSubject& subject, bool grad);

/// The options of all kinds of subjects. Options of other kinds than the subject's must not be set.
struct SubjectOptions {
  EvalLayerOptions layer = {};
  std::optional<int64_t> num_steps = {};
};

/// Runs the subject with eval_layer, eval_schedule, eval_activation, eval_learner or eval_training.
/// Throws what these throw, and ConfigError for options of another kind.
Tree<HostTensor> evaluate(const EvalSubject& subject, const std::optional<Tree<HostTensor>>& params,
                          const Tree<HostTensor>& inputs, const SubjectOptions& options,
                          Runtime& runtime);

}  // namespace axle
