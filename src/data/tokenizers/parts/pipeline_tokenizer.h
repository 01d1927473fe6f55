// A tokenizer made of parts: normalizers, pre-tokenizers, a model, added tokens, a decoder. Formats
// that hold such a tokenizer differ only in how they name the parts.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>

#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/normalizers.h"
#include "data/tokenizers/parts/pre_tokenizers.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

// Tokens that are found in text before it is cut into pieces: special tokens, and tokens added to a
// vocabulary after it was trained.

struct AddedToken {
  std::string text;
  int32_t id = 0;
  /// Stands for no text.
  bool special = false;
  /// Is found only where no letter or digit stands beside it.
  bool single_word = false;
  /// Takes the white space to its left and right.
  bool strip_left = false, strip_right = false;
  /// That to its right is only white space of ASCII.
  bool only_ascii = false;
  /// Is found in normalized text, by its own normalized form.
  bool normalized = false;
  /// What it is decoded as: `text`, or its normalized form.
  std::string shown = {};
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// Throws DataError "<path>: ..." for a token that is found by more than kMaxTokenBytes.
  AddedTokens(std::vector<AddedToken> tokens, std::span<const Normalizer> normalizers,
              std::string_view path);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  /// Returns their ids in order.
  std::vector<int32_t> ids() const;
  /// Returns the first token of the id, or of the text; nullptr if there is none.
  const AddedToken* find(int32_t id) const;
  const AddedToken* find(std::string_view text) const;

  /// Calls token(id) and text(part) for the parts of `text` in order. `normalized` chooses the
  /// tokens; special tokens are text unless `with_special`.
  void cut(std::string_view text, bool normalized, bool with_special,
           const std::function<void(int32_t)>& on_token,
           const std::function<void(std::string_view)>& on_text) const;

 private:
  std::vector<AddedToken> tokens_;
  std::vector<uint32_t> by_id_, by_text_;  // indices of tokens_
  ByteTrie raw_, normalized_;              // values are indices of tokens_
};

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
  int64_t vocab_size() const override { return std::ssize(pieces_); }
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
