// Tokenizers of the SentencePiece library: BPE and unigram models in its own file format.
#pragma once

#include <memory>

#include "config/axle_config.h"
#include "config/fields/required.h"
#include "data/tokenizers/added_pieces.h"
#include "data/tokenizers/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace axle {

class SentencePieceParts;

/// Encodes and decodes as the library does, with the normalization that the model asks for. Text
/// that the vocabulary can't express is decoded as the model's symbol for unknown text. Files of
/// Hugging Face beside the model (added_pieces.h) add tokens and name the special ones, as they do
/// for its LlamaTokenizer.
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
  SpecialIds special_ids() const override { return added_.special_ids; }
  std::vector<int32_t> encode(std::string_view text) const override {
    return encode_as(text, false);
  }
  std::vector<int32_t> encode_with_special(std::string_view text) const override {
    return encode_as(text, true);
  }
  std::vector<int32_t> framed(std::vector<int32_t> ids) const override;
  EncodeBytes encode_bytes() const override;
  std::string_view piece(int32_t id) const override;
  LeadingSpace leading_space(int32_t id) const override;
  std::string token(int32_t id) const override;
  ChatSettings chat_settings() const override { return added_.chat; }
  std::vector<int32_t> added_ids() const override { return added_.tokens.ids(); }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  using Library = sentencepiece::SentencePieceProcessor;
  void add_files_beside();
  std::vector<int32_t> encode_as(std::string_view text, bool with_special) const;
  std::vector<int32_t> encode_part(std::string_view text, bool adds_space) const;

  std::string path_;
  std::unique_ptr<Library> processor_;
  std::unique_ptr<SentencePieceParts> parts_;  // none: the library encodes
  std::unique_ptr<Library> without_space_;     // then for parts of a text; may be none
  AddedPieces added_;
  bool finds_in_any_text_ = false;  // there are added tokens that are not special
  std::vector<std::string> pieces_;
  // For pieces that begin with the model's own space symbol.
  LeadingSpace leading_space_ = LeadingSpace::kKeep;
  uint64_t fingerprint_ = 0;
};

}  // namespace axle
