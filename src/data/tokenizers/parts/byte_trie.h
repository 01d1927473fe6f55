// A trie over bytes: finds all texts of a set that a string begins with.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace axle {

class ByteTrie {
 public:
  ByteTrie() { roots_.fill(-1); }
  /// Adds a text, which must not be empty, with its value. A text that was added before gets the
  /// new value.
  void add(std::string_view text, int32_t value);

  /// Calls found(bytes, value) for each text that `text` begins with, the shortest first.
  template <class Found>
  void prefixes(std::string_view text, Found&& found) const {
    int32_t node = -1;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
      if (node < 0) return;
      const int32_t value = values_[static_cast<size_t>(node)];
      if (value >= 0) found(i + 1, value);
    }
  }

  struct Found {
    size_t begin, size;
    int32_t value;
  };
  /// Returns the first place at or after `from` where a text of the set stands, and the longest of
  /// those that begin there.
  std::optional<Found> find(std::string_view text, size_t from) const;

 private:
  int32_t child(int32_t node, uint8_t byte) const {
    if (node < 0) return roots_[byte];
    const uint64_t key = key_of(node, byte);
    for (size_t at = slot_of(key); !slots_.empty(); at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return slots_[at].node;
      if (slots_[at].node < 0) break;
    }
    return -1;
  }
  static uint64_t key_of(int32_t node, uint8_t byte) {
    return static_cast<uint64_t>(node) << 8 | byte;
  }
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>(key * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1);
  }
  void insert(uint64_t key, int32_t node);

  struct Slot {
    uint64_t key = 0;
    int32_t node = -1;
  };
  std::array<int32_t, 256> roots_;
  std::vector<Slot> slots_;      // a hash table of a power of two, at most half full
  size_t num_children_ = 0;      // in it
  std::vector<int32_t> values_;  // of the nodes; -1 where no text ends
};

}  // namespace axle
