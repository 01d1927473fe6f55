// What eval-layer evaluates: a layer, a function, a learner, or the steps of a training run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/tree.h"
#include "comparison/eval_layer.h"
#include "comparison/eval_layer_files.h"
#include "ir/host_tensor.h"
#include "layers/feed_forward/feed_forward.h"
#include "learn/learner.h"
#include "learn/schedule.h"
#include "recipes/resolve/resolve.h"
#include "runtime/runtime.h"
#include "train/config/trainer_config.h"

namespace axle {

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

/// The options of all kinds of subjects. Those of another kind than the subject's must not be set.
struct SubjectOptions {
  /// `dtype` casts the floats of all kinds, and replaces the compute_dtype of a training run;
  /// `grad` also computes "grad/in/x" of an activation; `init_seed` and `call_key` make the weights
  /// and the PRNG key of a training run.
  EvalLayerOptions layer = {};
  /// Schedules: computes the values at steps 0 to num_steps - 1. Learners and training runs: the
  /// number of updates; none: as many as there are gradients or batches.
  std::optional<int64_t> num_steps = {};
};

/// Runs the subject: eval_layer, eval_learner, eval_training, or
///   a schedule     {"in/step": steps, i32 or f32} -> {"out": the value at each step, of the same
///                  shape}
///   an activation  {"in/x": any shape} -> {"out": fn(x)}
/// Throws what these throw, ConfigError for other inputs and for options of another kind, DataError
/// if an input is missing.
Tree<HostTensor> evaluate(const EvalSubject& subject, const std::optional<Tree<HostTensor>>& params,
                          const Tree<HostTensor>& inputs, const SubjectOptions& options,
                          Runtime& runtime);

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
                              const Tree<HostTensor>& inputs, const SubjectOptions& options,
                              Runtime& runtime);

/// Takes steps on one device. Uses only model, learner, compute_dtype, layer_summaries, seed and
/// max_steps of the config. `inputs` holds
///   init/<path>     the initial weights by the model's own paths, unless `params` holds them
///   batches/<name>  the batches of all steps; the leading dim is the step
///   state/<leaf>    the rest of the training state; if none is given, as a new run begins
/// The result holds
///   <metric>            f32[steps]: "loss", "grad_norm", "param_norm", "learning_rate", ...
///   summaries/<path>    layer summaries, f32[steps, ...]
///   final/<path>        the final weights
///   state/<leaf>        the rest of the final training state
///   init_params/<path>  the initial weights drawn from a seed, if there is one
/// Throws DataError for missing tensors, ConfigError for extra and misshapen ones, and for entries
/// of a batch that nothing reads.
Tree<HostTensor> eval_training(const Trainer::Config& config,
                               const std::optional<Tree<HostTensor>>& params,
                               const Tree<HostTensor>& inputs, const SubjectOptions& options,
                               Runtime& runtime);

}  // namespace axle
