// Reads models in GGUF files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "interop/imported_model.h"

namespace axle {

/// The name of the tokenizer's file in the folder of an import (gguf_tokenizer_alone).
inline constexpr std::string_view kGgufTokenizerFile = "tokenizer.gguf";

/// True for a regular file that begins as GGUF files do, or whose name ends in ".gguf".
bool is_gguf(const std::filesystem::path& path);
/// Returns the model that the file holds. Its parameters are bf16 if all tensors are of that type
/// or f32, as llama.cpp keeps norms, and f32 else: blocks stand for numbers of more bits than bf16
/// has. The tokenizer is the file itself, if it has one. `ignored` names keys of the file that are
/// left out. There are no parameters without `with_weights`.
///
/// Throws DataError for a file that is malformed, an architecture that is not known, and tensors
/// that are not those that the keys tell of; ConfigError for keys of the architecture that Axle
/// does not know.
ImportedModel read_gguf(const std::filesystem::path& path,
                        const std::vector<std::string>& ignored = {}, bool with_weights = true);

}  // namespace axle
