// Architectures of GGUF files: how their keys and tensors are those of Hugging Face's files. The
// families (families/family.h) then read both alike.
//
// Source: the specification of GGUF; what its keys mean is what llama.cpp computes with them.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

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
};

class GgufArchitectureRow {
 public:
  explicit GgufArchitectureRow(const GgufArchitecture& architecture);
  GgufArchitectureRow(const GgufArchitectureRow&) = delete;
  GgufArchitectureRow& operator=(const GgufArchitectureRow&) = delete;
};

/// Returns the architecture of the file. Throws DataError with those that there are.
const GgufArchitecture& architecture_of(const GgufKeys& keys);

}  // namespace axle
