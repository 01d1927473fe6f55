// Tokenizers of Hugging Face's library: the file tokenizer.json.
#pragma once

#include <optional>

#include "config/axle_config.h"
#include "config/fields/required.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"

namespace axle {

/// Gives the ids of the library: byte-pair encoding, unigram models, word pieces and whole words,
/// with the normalizers, pre-tokenizers and decoders of the file. encode() takes the names of
/// special tokens in a text as text. "truncation" and "padding" of the file are left out. The ids
/// around a text are those of transformers 5, for the class that tokenizer_config.json names.
///
/// Text that is decoded is the library's without special tokens. Where ids make no whole
/// characters, it shows each byte token that does not fit as U+FFFD, and the library all of the
/// byte tokens around it.
class HuggingFaceTokenizer final : public PipelineTokenizer {
 public:
  struct Config {
    /// The file tokenizer.json.
    Required<std::string> path = REQUIRED;
    /// The token that begins a document. None: the first that stands before a text, if any.
    std::optional<std::string> bos = {};
    /// The token that ends a document. None: that of tokenizer_config.json beside the file, else
    /// the last that stands behind a text, if any.
    std::optional<std::string> eos = {};
    /// The token of padding. None: that of tokenizer_config.json.
    std::optional<std::string> pad = {};
    AXLE_CONFIG(HuggingFaceTokenizer, path, bos, eos, pad)
  };
  /// Throws DataError with file and field if the file is missing, damaged or of another kind.
  HuggingFaceTokenizer(const Config& cfg, const Dims& dims, const Scope& scope);
};

}  // namespace axle
