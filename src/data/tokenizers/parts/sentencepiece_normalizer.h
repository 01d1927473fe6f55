// The form of text that the models of SentencePiece cut: characters by the table of the model, and
// U+2581 for spaces.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/tokenizers/parts/byte_trie.h"
#include "data/tokenizers/parts/chars_map.h"

namespace axle {

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
  // Characters that stay as they are: those of ASCII before others of ASCII and at the end, and by
  // code point those of two and three bytes, wherever they stand.
  std::array<bool, 256> is_plain_{};  // a space is not
  bool space_is_plain_ = false;
  std::bitset<0x10000> is_kept_;
};

}  // namespace axle
