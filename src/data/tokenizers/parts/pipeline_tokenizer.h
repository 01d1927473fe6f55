// A tokenizer made of parts: normalizers, pre-tokenizers, a model, added tokens, a decoder. Formats
// that hold such a tokenizer differ only in how they name the parts.
#pragma once

#include <memory>

#include "data/tokenizers/parts/added_tokens.h"
#include "data/tokenizers/parts/decoder.h"
#include "data/tokenizers/parts/normalizers.h"
#include "data/tokenizers/parts/pre_tokenizers.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

struct TokenizerParts {
  /// The file, for messages.
  std::string path;
  std::vector<Normalizer> normalizers = {};
  std::vector<PreTokenizer> pre_tokenizers = {};
  std::unique_ptr<TokenModel> model;
  AddedTokens added = {};
  TokenDecoder decoder = {};
  /// Ids that the file puts before and behind a text.
  std::vector<int32_t> before = {}, behind = {};
  SpecialIds special_ids = {};
  ChatSettings chat = {};
  /// A hash of all of this but `chat`.
  uint64_t fingerprint = 0;

  /// Returns the largest id plus one.
  int64_t num_ids() const;
};

/// Finds added tokens in the text, normalizes the rest, cuts it into pieces, and encodes each piece
/// by the model.
class PipelineTokenizer : public Tokenizer {
 public:
  int64_t vocab_size() const override { return static_cast<int64_t>(pieces_.size()); }
  SpecialIds special_ids() const override { return parts_.special_ids; }
  std::vector<int32_t> encode(std::string_view text) const override {
    return encode_as(text, false);
  }
  std::vector<int32_t> encode_with_special(std::string_view text) const override {
    return encode_as(text, true);
  }
  std::vector<int32_t> framed(std::vector<int32_t> ids) const override;
  EncodeBytes encode_bytes() const override;
  std::string_view piece(int32_t id) const override;
  LeadingSpace leading_space(int32_t) const override { return parts_.decoder.leading_space; }
  InvalidBytes invalid_bytes() const override { return parts_.decoder.invalid_bytes; }
  std::string token(int32_t id) const override;
  ChatSettings chat_settings() const override { return parts_.chat; }
  std::vector<int32_t> added_ids() const override { return parts_.added.ids(); }
  uint64_t fingerprint() const override { return parts_.fingerprint; }

 protected:
  explicit PipelineTokenizer(TokenizerParts parts);

 private:
  std::vector<int32_t> encode_as(std::string_view text, bool with_special) const;
  std::vector<int32_t> run(std::string_view text, bool with_special) const;
  bool cuts_at_spaces() const;

  TokenizerParts parts_;
  std::vector<std::string> pieces_;
};

}  // namespace axle
