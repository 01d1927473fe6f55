// Tokenizers of the SentencePiece library: BPE and unigram models in its own file format.
#pragma once

#include <memory>

#include "config/axle_config.h"
#include "config/fields/required.h"
#include "data/tokenizers/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace axle {

class SentencePieceParts;

/// Encodes and decodes as the library does, with the normalization that the model asks for. Text
/// that the vocabulary can't express is decoded as the model's symbol for unknown text.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  struct Config {
    /// The model file.
    Required<std::string> path = REQUIRED;
    AXLE_CONFIG(SentencePieceTokenizer, path)
  };
  /// Throws DataError if the file is missing or not such a model.
  SentencePieceTokenizer(const Config& cfg, const Dims& dims, const Scope& scope);
  ~SentencePieceTokenizer() override;

  int64_t vocab_size() const override { return static_cast<int64_t>(pieces_.size()); }
  SpecialIds special_ids() const override;
  std::vector<int32_t> encode(std::string_view text) const override;
  EncodeBytes encode_bytes() const override;
  std::string_view piece(int32_t id) const override;
  LeadingSpace leading_space(int32_t id) const override;
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  std::string path_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  std::unique_ptr<SentencePieceParts> parts_;  // none: the library encodes
  std::vector<std::string> pieces_;
  // For pieces that begin with the model's own space symbol.
  LeadingSpace leading_space_ = LeadingSpace::kKeep;
  uint64_t fingerprint_ = 0;
};

}  // namespace axle
