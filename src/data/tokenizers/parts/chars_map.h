// The table of normalized characters of SentencePiece models: a double-array trie whose values are
// offsets of texts.
//
// Layout, little-endian: u32 size of the trie in bytes; u32 units of the trie; texts, each ended by
// a NUL.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

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
