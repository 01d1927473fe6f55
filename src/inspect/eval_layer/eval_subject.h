// The subject of `axle eval-layer`, described by a file: a layer, a schedule, an activation, a
// learner or the steps of a training run.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "inspect/eval_layer/eval_layer.h"
#include "inspect/eval_layer/eval_layer_files.h"
#include "inspect/eval_layer/layer_file.h"
#include "layers/feed_forward/activation.h"
#include "learn/learner.h"
#include "recipes/resolve/resolve.h"
#include "train/config/trainer_config.h"

namespace axle {

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
