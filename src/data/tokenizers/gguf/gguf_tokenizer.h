// The tokenizer in the metadata of a GGUF file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"
#include "io/gguf/gguf_value.h"

namespace axle {

/// Produces the ids of the tokenizer that the file was made from, for two kinds of
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

struct GgufSplit {
  /// Applied one after the other, each to the pieces of the one before.
  std::vector<std::string_view> patterns;
  /// A piece that is a token becomes that token, regardless of the merges.
  bool ignore_merges = false;
  /// Texts begin with the begin token unless the file says otherwise.
  bool adds_bos = false;
};

/// Returns nullptr for an unknown name.
const GgufSplit* find_gguf_split(std::string_view name);
/// Returns the name of these patterns, the first if there are several; none if there is none.
std::optional<std::string_view> gguf_split_name(const std::vector<std::string>& patterns,
                                                bool ignore_merges);
/// Returns all names, with commas between them.
std::string gguf_split_names();

/// Returns tokenizer.json and tokenizer_config.json, with the chat template, by their names: they
/// produce the same ids as GgufTokenizer. Empty for tokens with scores that no tokenizer.json
/// merges in their order: those with equal scores, and user-defined ones where a space is put
/// before a text. Throws DataError as the tokenizer does.
std::map<std::string, std::string> gguf_tokenizer_json(const std::filesystem::path& file);

}  // namespace axle
