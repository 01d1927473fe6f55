// Low-rank adapters of PEFT: read into a model, and merged into its weights.
#pragma once

#include <filesystem>
#include <string>

#include "interop/foreign_model.h"
#include "interop/model_folder.h"
#include "interop/peft_config.h"
#include "layers/models/model.h"

namespace axle {

// Models with adapters of `peft`: a folder that holds low-rank matrices for the projections of
// another model, and perhaps modules that are kept whole (peft_config.h).
//
// Source: the files that peft writes, adapter_config.json and adapter_model.safetensors.

/// True for a folder that holds adapters and no model.
bool is_peft_folder(const std::filesystem::path& path);
/// True for a folder of adapters that are scaled by alpha / sqrt(rank) (rsLoRA). A LoraProduct
/// divides by the rank, and its alpha is `lora_alpha` times the root.
bool is_scaled_by_root(const std::filesystem::path& path);
/// Returns the model that the adapters belong to: a folder or a file called "base" among them, or
/// the path in `base_model_name_or_path`, from the folder or from the working directory. Throws
/// ConfigError if neither is there; DataError for a config that is malformed.
std::filesystem::path peft_base(const std::filesystem::path& folder);
/// Returns `base` with a LoraProduct around the product of each projection that has an adapter.
/// Modules that the folder keeps whole are in it already. Adapters are f32. Where the base stores
/// several projections as one matrix, each of them gets the part of its outputs.
///
/// Throws DataError for adapters that are malformed, that belong to none of its projections, or to
/// some layers of a stack alone; ConfigError for fields of adapter_config.json that Axle does not
/// know.
ImportedModel with_peft_adapters(ImportedModel base, const std::filesystem::path& folder,
                                 const ReadOptions& options = {});

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
