// A model folder whose low-rank adapters are merged into the weights.
#pragma once

#include <string>

#include "interop/model_folder.h"
#include "layers/models/model.h"

namespace axle {

struct MergeReport {
  std::filesystem::path dir;
  int64_t step = 0;
  int64_t num_adapters = 0;  // configs with an adapter
};
/// "tuned: 4 adapters merged into the weights of step 12\n".
std::string to_text(const MergeReport& report);

/// Creates the folder `to` with the model of `from` without adapters, whose weights are weight +
/// alpha / rank * lora_down * lora_up. It computes what the model of `from` computes, and keeps its
/// input and its step. Throws as load_model and save_model do; ConfigError if the model
/// has no adapter, or no length of context.
MergeReport merge_adapters(const std::filesystem::path& from, const std::filesystem::path& to,
                           Weights weights = Weights::kTrained,
                           const Report& report = report_to_stderr);

/// A model, and where its parameters lie in a larger one: below "model/<path>".
struct TrainedPart {
  Child<Model> config;
  std::string path = {};  // "policy/"; empty: the whole model
};
/// Returns the policy of a PreferenceLM, the student of a Distillation, and of a model within these
/// the same; another model as it is. `built` is the model of the config, if there is one already.
/// Throws ConfigError for a model that can't be built.
TrainedPart trained_part(Child<Model> config, const Model* built = nullptr);

}  // namespace axle
