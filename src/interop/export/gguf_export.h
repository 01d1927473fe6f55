// The tokenizer of a model in the keys of a GGUF file.
#pragma once

#include <string>

#include "config/fields.h"
#include "data/tokenizers/tokenizer.h"
#include "interop/export/hugging_face_export.h"
#include "io/gguf/gguf_value.h"

namespace axle {

/// Returns the keys "tokenizer.*" of a tokenizer whose config and object these are: of bytes, of a
/// tokenizer.json of byte-level merges, of a SentencePiece model of merges, and of a GGUF file,
/// together with its keys "general.*". There are as many tokens as the model has rows: `num_rows`.
/// `chat_template` replaces the tokenizer's own; empty: it keeps its own.
/// Empty for tokenizers that GGUF has no form for. Throws DataError for a file that can't be read.
GgufMetadata gguf_tokenizer_keys(const Child<Tokenizer>& config, const Tokenizer& tokenizer,
                                 int64_t num_rows, const std::string& chat_template = {});

/// Returns the pieces of the file; empty unless it merges pairs (BPE). Throws DataError for a file
/// that can't be read.
GgufMetadata gguf_keys_of_sentencepiece(const std::string& path);

/// Returns the tokens and merges of the file; empty if GGUF has no form for it: another model than
/// byte-level merges, other patterns than those that GGUF has names for, added tokens that take
/// spaces with them. Throws DataError for a file that can't be read.
GgufMetadata gguf_keys_of_tokenizer_json(const std::string& path);

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
