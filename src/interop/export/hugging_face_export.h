// Writes a model as a folder that other programs load (Hugging Face's form).
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "config/fields.h"
#include "data/tokenizers/tokenizer.h"
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

/// Returns the files by name: a tokenizer.json of Hugging Face or a SentencePiece model, of any
/// name, or another file of such a name, with the files beside it (tokenizer_files.h); a
/// tokenizer.json for bytes, and for the tokens of a GGUF file if one can produce their ids.
/// `chat_template` replaces the tokenizer's own; empty: it keeps its own.
/// Empty if there is no such file for the tokenizer, or no tokenizer. Throws StorageError, and
/// DataError for a GGUF file that is damaged.
std::map<std::string, std::string> exported_tokenizer(const Child<Tokenizer>& tokenizer,
                                                      const std::string& chat_template = {});

}  // namespace axle
