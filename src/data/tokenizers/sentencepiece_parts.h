// SentencePiece models encoded by the parts of other tokenizers, which take a fraction of the
// library's time: it puts all of a text into one queue of merges.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/parts/chars_map.h"
#include "data/tokenizers/parts/sentencepiece_normalizer.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Gives the ids of the library for valid UTF-8.
class SentencePieceParts {
 public:
  /// Returns none for models that only the library encodes: those of whole words or characters,
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
