// Models with adapters of `peft`: a folder that holds low-rank matrices for the projections of
// another model, and perhaps modules that are kept whole (peft_config.h).
//
// Source: the files that peft writes, adapter_config.json and adapter_model.safetensors.
#pragma once

#include <filesystem>

#include "interop/foreign_model.h"
#include "interop/peft_config.h"

namespace axle {

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

}  // namespace axle
