// The alphabet of byte-level vocabularies: each byte as one printable character, as GPT-2 writes
// them. Bytes that are printable in Latin-1 stand for themselves; the others are U+0100 and up, in
// their order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace axle {

/// Returns the bytes; none if the text is not base 64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

/// Returns the bytes in that alphabet.
std::string to_byte_level(std::string_view bytes);
/// Returns the bytes that the text stands for; none if a character is not of the alphabet.
std::optional<std::string> from_byte_level(std::string_view text);

// A trie over bytes: finds all texts of a set that a string begins with. A double array: the child
// of a node for a byte is stored at the node's base plus the byte, and knows its parent.
//
// Source: Aoe 1989, "An efficient digital search algorithm by using a double-array structure".

class ByteTrie {
 public:
  struct Entry {
    std::string_view text;  // not empty
    int32_t value;
  };

  ByteTrie() = default;
  /// Of entries with one text, the last counts.
  explicit ByteTrie(std::vector<Entry> entries);

  /// Calls found(bytes, value) for each text that `text` begins with, the shortest first.
  template <class Found>
  void prefixes(std::string_view text, Found&& found) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const uint32_t at = units_[node].base + static_cast<uint8_t>(text[i]);
      const Unit& unit = units_[at];
      if (unit.parent != node + 1) return;
      if (unit.value >= 0) found(i + 1, unit.value);
      node = at;
    }
  }

  /// Returns the value of a text; -1 if the set does not have it.
  int32_t value(std::string_view text) const {
    uint32_t node = 0;
    for (const char c : text) {
      const uint32_t at = units_[node].base + static_cast<uint8_t>(c);
      if (units_[at].parent != node + 1) return -1;
      node = at;
    }
    return units_[node].value;
  }

  struct Found {
    size_t begin, size;
    int32_t value;
  };
  /// Returns the first index at or after `from` where a text of the set begins, and the longest of
  /// those that begin there.
  std::optional<Found> find(std::string_view text, size_t from) const;
  /// True if a text of the set begins with the byte.
  bool begins_with(uint8_t byte) const { return units_[units_[0].base + byte].parent == 1; }

 private:
  static constexpr uint32_t kNumBytes = 256;
  struct Unit {
    uint32_t base = 0;
    uint32_t parent = 0;  // its index plus one; 0: free
    int32_t value = -1;
  };
  struct Builder;

  // There are always units for all bytes behind a base. The first one is the root.
  std::vector<Unit> units_ = std::vector<Unit>(kNumBytes + 1);
};

}  // namespace axle
