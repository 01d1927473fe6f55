// The tokenizer in the metadata of a GGUF file.
#pragma once

#include <filesystem>
#include <string>

#include "config/axle_config.h"
#include "config/fields/required.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"
#include "io/gguf/gguf_value.h"

namespace axle {

/// Gives the ids of the tokenizer that the file was made from, for two kinds of
/// "tokenizer.ggml.model":
///   gpt2: byte-level tokens with merges, cut by the patterns that "tokenizer.ggml.pre" names;
///   llama: SentencePiece's merges by score, with bytes for unknown characters.
/// encode() takes the names of control tokens in a text as text.
class GgufTokenizer final : public PipelineTokenizer {
 public:
  struct Config {
    /// The GGUF file.
    Required<std::string> path = REQUIRED;
    AXLE_CONFIG(GgufTokenizer, path)
  };
  /// Reads only the header. Throws DataError with file and key if the file is missing or damaged,
  /// or if its tokenizer is of another kind.
  GgufTokenizer(const Config& cfg, const Dims& dims, const Scope& scope);
};

/// Returns a GGUF file with the same tokenizer and chat template, and without the model. Throws
/// DataError as the tokenizer does.
std::string gguf_tokenizer_alone(const std::filesystem::path& file);
/// Returns the tokenizer of the metadata. `path` is for messages.
TokenizerParts parts_of_gguf(const GgufMetadata& metadata, const std::string& path);

}  // namespace axle
