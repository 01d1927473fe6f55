// A model folder whose low-rank adapters are merged into the weights.
#pragma once

#include "interop/model_folder.h"

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

}  // namespace axle
