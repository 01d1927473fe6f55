#include "modifiers/preference_tuning.h"

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/models/preference_lm.h"
#include "modifiers/products/lora.h"
#include "modifiers/trial_model.h"

namespace axle {
namespace {

// The dtype that the run computes in, if the tree says one.
std::optional<FloatDType> compute_dtype_of(ConfigRef root) {
  for (const Slot& field : children_of(root.slot())) {
    if (field.name != "compute_dtype") continue;
    const Slot value = unwrap(field);
    if (*value.ops->type == typeid(FloatDType)) return *static_cast<const FloatDType*>(value.at);
  }
  return std::nullopt;
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
  Child<Model>& model = const_cast<Child<Model>&>(*found);  // root is not const
  Child<Model> reference = model;
  remove_adapters(reference);
  if (const auto dtype = compute_dtype_of(root)) reference.options.dtype = *dtype;
  Child<Model> tuned = PreferenceLM::Config{.policy = model,
                                            .reference = std::move(reference),
                                            .beta = cfg_.beta,
                                            .label_smoothing = cfg_.label_smoothing};
  model = std::move(tuned);
  out.report.matched.push_back("model");
  return {std::move(out)};
}

AXLE_REGISTER(PreferenceTuning)

}  // namespace axle
