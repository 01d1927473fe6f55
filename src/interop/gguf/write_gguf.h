// Writes models as GGUF files.
#pragma once

#include <filesystem>
#include <string>

#include "interop/foreign/foreign_config.h"
#include "interop/foreign/tensor_source.h"
#include "io/gguf/gguf_value.h"

namespace axle {

struct GgufToWrite {
  /// The fields of a config.json.
  nlohmann::ordered_json fields;
  /// The type of matrices: F32, F16, BF16 or Q8_0. As in llama.cpp, vectors, routers and learned
  /// positions are F32, and matrices whose rows are no whole blocks F16.
  std::string type = "F16";
  /// Further keys: those of the tokenizer.
  GgufMetadata further = {};
};

/// Writes a model with these tensors, which have the names of Hugging Face. Throws ConfigError for
/// a model that GGUF has no keys for, or that llama.cpp computes otherwise; as save_gguf() does.
void write_gguf(const std::filesystem::path& file, const GgufToWrite& model,
                const TensorSource& tensors);

}  // namespace axle
