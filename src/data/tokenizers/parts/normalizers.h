// Normalizers, which change texts before they are cut into pieces, and decoders, which undo that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/regex.h"
#include "base/text/unicode.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Converts tokens to the bytes that they stand for, each by itself.
struct TokenDecoder {
  /// Changes a token to text, one after the other.
  std::vector<std::function<void(std::string&)>> steps = {};
  /// What happens to a space before the first token.
  LeadingSpace leading_space = LeadingSpace::kKeep;
  /// How bytes that do not fit are shown.
  InvalidBytes invalid_bytes = InvalidBytes::kEach;

  std::string operator()(std::string token) const {
    for (const auto& step : steps) step(token);
    return token;
  }
};

/// Bytes for characters of the alphabet of byte_level.h; a token with others stands for itself.
void decode_byte_level(std::string& token);
/// The byte for "<0x0A>"; other tokens stand for themselves.
void decode_byte_token(std::string& token);
/// The text without `prefix`; tokens without it begin a word, which a space precedes. If `cleanup`,
/// spaces before punctuation and contractions of English are removed.
std::function<void(std::string&)> decode_word_piece(std::string prefix, bool cleanup);
/// Removes up to `left` and `right` times the text at the ends.
std::function<void(std::string&)> strip_text(std::string text, size_t left, size_t right);

struct PieceRange {
  size_t begin, end;
};

struct Pieces {
  /// Valid UTF-8.
  std::string text;
  /// In order, none empty, each ends where a character ends. What is in none of them was dropped.
  std::vector<PieceRange> ranges;
  /// True if the text is the beginning of what is encoded, not what follows a special token.
  bool at_start = true;

  std::string_view view(const PieceRange& range) const {
    return std::string_view(text).substr(range.begin, range.end - range.begin);
  }
};

/// Returns the text as one piece; without pieces if it is empty.
inline Pieces one_piece(std::string text, bool at_start) {
  Pieces out{.text = std::move(text), .ranges = {}, .at_start = at_start};
  if (!out.text.empty()) out.ranges.push_back({0, out.text.size()});
  return out;
}

// Normalizers: they change text before it is cut into pieces. Named and behaving as in Hugging
// Face's library.

/// Changes valid UTF-8 to other valid UTF-8.
using Normalizer = std::function<void(std::string&)>;

/// Applies all of them in their order. Throws DataError if the text becomes much longer: more than
/// 64 times and a megabyte.
void normalize(std::string& text, std::span<const Normalizer> normalizers);

Normalizer to_normal_form(NormalForm form);
Normalizer to_lower_case();
/// Removes white space at the ends.
Normalizer strip(bool left, bool right);
/// Removes all marks (categories M*).
Normalizer strip_accents();
Normalizer replace_text(std::string text, std::string by);
Normalizer replace_pattern(UnicodeRegex pattern, std::string by);
/// Puts a text in front, unless the text is empty.
Normalizer prepend(std::string text);

struct BertNormalizer {
  /// Removes control characters, and writes a space for each white space.
  bool clean_text = true;
  /// Puts spaces around Chinese characters.
  bool space_chinese = true;
  /// Decomposes, and removes nonspacing marks.
  bool strip_accents = true;
  bool lower_case = true;
  void operator()(std::string& text) const;
};

/// What SentencePiece does for NMT: removes control characters, and writes a space for other white
/// space.
Normalizer nmt();

// The table of normalized characters of SentencePiece models: a double-array trie whose values are
// offsets of texts.
//
// Layout, little-endian: u32 size of the trie in bytes; u32 units of the trie; texts, each ended by
// a NUL.

class CharsMap {
 public:
  /// Throws DataError "<where>: ..., got a table of normalized characters ..." if the table points
  /// outside itself. `where` ends with what was expected: "<path>: expected a SentencePiece model".
  CharsMap(std::string_view bytes, const std::string& where);

  /// Returns what stands in the table for the shortest beginning of `text` that it has; none if it
  /// has none.
  std::optional<std::string_view> find(std::string_view text) const;
  /// Returns what stands for the longest beginning of `text` that the table has, and the bytes of
  /// that beginning; none if it has none.
  struct Found {
    std::string_view text;
    size_t size;
  };
  std::optional<Found> find_longest(std::string_view text) const;
  /// True if an entry of the table begins with `text`, or `text` with an entry.
  bool may_begin_with(std::string_view text) const;
  /// True if the ASCII character stays as it is at the end of a text and before ASCII characters.
  bool keeps_in_ascii(uint8_t character) const;
  /// Replaces grapheme clusters of fewer than 6 bytes and characters that begin with an entry of
  /// the table, as the fast tokenizers do.
  void normalize(std::string& text) const;

 private:
  size_t base_of(uint32_t unit, size_t at) const;
  void check() const;
  [[noreturn]] void fail(std::string_view what) const;

  std::string where_;
  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace axle
