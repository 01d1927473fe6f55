// Reads models in the form of Hugging Face: a folder with config.json and safetensors files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "interop/foreign/tensor_source.h"
#include "interop/imported_model.h"

namespace axle {

inline constexpr std::string_view kHuggingFaceConfig = "config.json";

/// Returns the model that the folder holds, with its parameters, unless the options name another
/// dtype, in the one in which the files hold them; in f32 if they hold f16 or several dtypes.
///
/// Throws DataError for files that are missing or malformed, a family that is not known, and
/// weights that are not those of the config (WeightMap::read); ConfigError for fields that Axle
/// does not know.
ImportedModel read_hugging_face(const std::filesystem::path& folder,
                                const ReadOptions& options = {});

}  // namespace axle
