// Writes a model as a GGUF file, which llama.cpp runs.
#pragma once

#include "interop/export/hugging_face_export.h"

namespace axle {

struct GgufExport {
  ExportOptions options = {};
  /// The file to create.
  std::filesystem::path file = {};
  /// The type of matrices: F32, F16, BF16 or Q8_0 (GgufToWrite); empty: that of the parameters.
  std::string type = {};
};

/// Writes weights, tokenizer and chat template. Throws as model_to_export() and write_gguf() do;
/// ConfigError if the file exists.
ExportReport export_gguf(const GgufExport& request, const Report& report = report_to_stderr);

}  // namespace axle
