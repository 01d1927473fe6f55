#include "modifiers/preference_tuning.h"

#include <algorithm>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/models/beside_frozen.h"
#include "modifiers/trial_model.h"

namespace axle {
namespace {

// The dtype that the run computes in, if the tree says one.
std::optional<FloatDType> compute_dtype_of(ConfigRef root) {
  for (const Slot& field : children_of(root)) {
    if (field.name != "compute_dtype") continue;
    const Slot value = unwrap(field);
    if (*value.ops->type == typeid(FloatDType)) return *static_cast<const FloatDType*>(value.at);
  }
  return std::nullopt;
}

// The patterns of the parameters that are trained where the learner freezes all others.
std::optional<std::vector<std::string>> trained_alone(ConfigRef root) {
  using Patterns = std::vector<std::string>;
  const Patterns *frozen = nullptr, *trained = nullptr;
  walk(root, [&](const std::string& path, const Slot& slot) {
    if (*slot.ops->type != typeid(Patterns)) return;
    if (path == "learner.frozen") frozen = static_cast<const Patterns*>(slot.at);
    if (path == "learner.trained") trained = static_cast<const Patterns*>(slot.at);
  });
  if (!frozen || !trained || std::ranges::count(*frozen, "**") == 0) return std::nullopt;
  return *trained;
}

}  // namespace

std::vector<Rewrite> PreferenceTuning::apply(ConfigRef root) const {
  const Child<Model>* const found = find_model(root);
  if (!found || !*found) throw NoMatch("PreferenceTuning: expected a tree with a model, got none");
  Rewrite out{.what = "PreferenceTuning of the model", .report = {}};
  if (found->get_if<PreferenceLM>()) {
    out.report.unchanged.push_back("model");
    return {std::move(out)};
  }
  // The root is not const. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  Child<Model>& model = const_cast<Child<Model>&>(*found);
  PreferenceLM::Config tuning{.policy = model,
                              .reference = model,
                              .beta = cfg_.beta,
                              .label_smoothing = cfg_.label_smoothing};
  if (const auto trained = trained_alone(root))
    tuning.own = *trained;
  else if (const auto dtype = compute_dtype_of(root))
    tuning.reference.options.dtype = *dtype;
  Child<Model> tuned = std::move(tuning);
  model = std::move(tuned);
  out.report.matched.push_back("model");
  return {std::move(out)};
}

AXLE_REGISTER(PreferenceTuning)

}  // namespace axle
