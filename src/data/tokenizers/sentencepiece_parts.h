// SentencePiece models encoded by the parts of other tokenizers, which take a fraction of the
// library's time: it puts all of a text into one queue of merges.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/normalizers.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

// The form of text that the models of SentencePiece cut: characters by the table of the model, and
// U+2581 for spaces.

class SentencePieceNormalizer {
 public:
  struct Spaces {
    bool add = true;          // one to a text
    bool are_behind = false;  // words, else before them
    bool join = true;         // to one, and drop them at the ends of a text
  };

  /// `users`: the pieces that users defined. They stay as they are, the longest first.
  SentencePieceNormalizer(std::optional<CharsMap> characters, ByteTrie users, Spaces spaces);

  /// Returns the form of valid UTF-8. `adds_space`: if the model adds one at all.
  std::string operator()(std::string_view text, bool adds_space) const;

  const ByteTrie& users() const { return users_; }

 private:
  CharsMap::Found first_of(std::string_view text) const;
  size_t plain_size(std::string_view text) const;

  std::optional<CharsMap> characters_;
  ByteTrie users_;
  Spaces spaces_;
  // Characters that stay as they are: ASCII characters before others of ASCII and at the end, and
  // by code point characters of two and three bytes, wherever they stand.
  std::array<bool, 256> is_plain_{};  // a space is not
  bool space_is_plain_ = false;
  std::bitset<0x10000> is_kept_;
};

/// Produces the ids of the library for valid UTF-8.
class SentencePieceParts {
 public:
  /// Returns none for models that only the library encodes: models of whole words or characters,
  /// those that do not write U+2581 for a space, and those with pieces out of the ordinary (a BPE
  /// piece with a character that is no piece; a special piece that is found in text). `model` has
  /// passed check_sentencepiece_model(), which returns `characters`, and the library has loaded it.
  static std::unique_ptr<SentencePieceParts> of_model(std::string_view model,
                                                      std::optional<CharsMap> characters,
                                                      const std::string& path);
  /// `adds_space`: if the model adds one at all.
  std::vector<int32_t> encode(std::string_view text, bool adds_space = true) const;
  /// As of a Tokenizer.
  EncodeBytes encode_bytes() const;

 private:
  SentencePieceParts() = default;

  std::unique_ptr<TokenModel> model_;
  std::optional<SentencePieceNormalizer> normalizer_;
  bool cuts_at_users_ = false;  // else their pieces are tokens of the model
};

}  // namespace axle
