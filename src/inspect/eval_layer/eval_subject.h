// What `axle eval-layer` runs: a layer, a schedule, an activation, a learner or the steps of a
// training run, as a file describes it.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "inspect/eval_layer/eval_layer.h"
#include "inspect/eval_layer/eval_layer_files.h"
#include "layers/feed_forward/activation.h"
#include "learn/learner.h"
#include "recipes/resolve.h"
#include "train/trainer.h"

namespace axle {

using EvalSubject = std::variant<LayerFile, Schedule, Activation, Child<Learner>, Trainer::Config>;

/// Reads YAML. {class: Name, config: {...}}: a layer (with dims: and options of its slot), a
/// schedule or activation, an optimizer (which stands in a learner without transforms) or a
/// learner. Anything else is a file of --config: a recipe with changes, or fields of a trainer such
/// as {model: ..., learner: ...}; what it rewrites goes into `changes`. Throws ConfigError at
/// `source`.
EvalSubject parse_eval_subject(std::string_view text, const std::string& source,
                               ResolveReport* changes = nullptr);

/// The same from a file, or a recipe by its name. Throws ConfigError if there is neither.
EvalSubject read_eval_subject(const std::string& file_or_recipe, ResolveReport* changes = nullptr);

/// "a layer", "a schedule", "an activation", "a learner", "a training run".
std::string_view kind_of(const EvalSubject& subject);
/// What of a file of inputs it reads.
InputSections input_sections(const EvalSubject& subject, bool grad);

/// The flags of all kinds; those that do not belong to the subject's kind must not be set.
struct SubjectOptions {
  EvalLayerOptions layer = {};
  std::optional<int64_t> num_steps = {};
};

/// Runs it: eval_layer, eval_schedule, eval_activation, eval_learner or eval_training. Throws what
/// these throw, and ConfigError for options of another kind.
Tree<HostTensor> evaluate(const EvalSubject& subject, const std::optional<Tree<HostTensor>>& params,
                          const Tree<HostTensor>& inputs, const SubjectOptions& options,
                          Runtime& runtime);

}  // namespace axle
