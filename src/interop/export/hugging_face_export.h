// Writes a model as a folder that other programs load (Hugging Face's form).
#pragma once

#include "interop/export/model_to_export.h"

namespace axle {

struct HuggingFaceExport {
  ExportOptions options = {};
  /// The folder to create.
  std::filesystem::path dir = {};
  /// No file has more bytes of tensors than this, unless a single tensor has.
  int64_t max_file_bytes = 5'000'000'000;
};

struct ExportReport {
  std::filesystem::path dir;
  std::string family;
  int64_t num_parameters = 0, num_files = 0, num_adapters = 0;
  /// Of the tensors: "bf16", "q8_0".
  std::string dtype = "f32";
  bool has_tokenizer = false;
};
/// "out: llama, 1,234 parameters, f32, in 1 file; ...".
std::string to_text(const ExportReport& report);
nlohmann::ordered_json to_json(const ExportReport& report);

/// Writes config.json, generation_config.json, the weights as safetensors, with an index if there
/// are several files, and the tokenizer's files. Throws as model_to_export() does; ConfigError if
/// `dir` is not new or empty. On failure nothing is left.
ExportReport export_hugging_face(const HuggingFaceExport& request,
                                 const Report& report = report_to_stderr);

}  // namespace axle
