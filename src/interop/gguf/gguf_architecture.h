// Architectures of GGUF files: how their keys and tensors are those of Hugging Face's files. The
// families (families/family.h) then read both alike.
//
// Source: the specification of GGUF; what its keys mean is what llama.cpp computes with them.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "interop/foreign/foreign_config.h"
#include "interop/gguf/gguf_key_writer.h"
#include "interop/gguf/gguf_keys.h"
#include "interop/gguf/gguf_names.h"

namespace axle {

/// An architecture that "general.architecture" names. A constant of type GgufArchitectureRow
/// registers it.
struct GgufArchitecture {
  /// "llama".
  std::string_view name;
  /// Returns the fields of config.json, and reads all keys that bear on the model. Throws DataError
  /// for a key of a value that Axle has no layer for.
  nlohmann::ordered_json (*fields)(const GgufKeys& keys);
  /// Returns the names of all tensors that the model may have.
  std::vector<GgufName> (*names)();
  /// The families of Hugging Face that it holds (Family::model_type).
  std::vector<std::string_view> families;
  /// Writes the keys of a model with these fields of config.json. A field that has no key is left
  /// out: whoever reads the keys back finds the difference. Throws ConfigError for what llama.cpp
  /// would compute otherwise, although Axle reads it back.
  void (*write)(const ForeignConfig& config, GgufKeyWriter& keys);
};

class GgufArchitectureRow {
 public:
  explicit GgufArchitectureRow(const GgufArchitecture& architecture);
  GgufArchitectureRow(const GgufArchitectureRow&) = delete;
  GgufArchitectureRow& operator=(const GgufArchitectureRow&) = delete;
};

/// Returns the architecture of the file. Throws DataError with those that there are.
const GgufArchitecture& architecture_of(const GgufKeys& keys);
/// Returns the architecture that holds a family. Throws ConfigError with the families that there
/// are.
const GgufArchitecture& architecture_for(const ForeignConfig& config);

}  // namespace axle
