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

/// Returns the model that the file holds. Unless the options name another dtype, its parameters
/// are bf16 if all tensors are of that type or f32, as llama.cpp keeps norms, and f32 else: blocks
/// stand for numbers of more bits than bf16 has. The tokenizer is the file itself, if it has one.
///
/// Throws DataError for a file that is malformed, an architecture that is not known, and tensors
/// that are not those that the keys tell of; ConfigError for keys of the architecture that Axle
/// does not know.
ImportedModel read_gguf(const std::filesystem::path& path, const ReadOptions& options = {});

/// Returns the family of Hugging Face that holds the file's model: "phi3". Throws DataError as
/// above.
std::string gguf_family(const std::filesystem::path& path);

}  // namespace axle
