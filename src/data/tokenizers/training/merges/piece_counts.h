// How often each piece stands in a text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace axle {

/// Different pieces with their counts. Counts are sums: the order in which pieces and tables are
/// added does not matter. Memory: about 90 bytes for each different piece, and its text.
///
/// The pieces are divided by their hashes, so that several threads can add tables to one, each of
/// them one part.
class PieceCounts {
 public:
  static constexpr size_t kParts = 32;

  void add(std::string_view piece) {
    const uint64_t hash = xxh3_64(piece);
    parts_[hash % kParts].add(piece, hash, 1);
  }
  /// Adds one part of another table.
  void add_part(const PieceCounts& other, size_t part);

  int64_t num_pieces() const;
  int64_t num_bytes() const;  // of the texts of all pieces
  /// Calls f(piece, count) for each piece, in no order that means anything.
  template <class F>
  void for_each(F&& f) const {
    for (const Part& part : parts_) {
      for (const Slot& slot : part.slots)
        if (slot.count > 0) f(part.text_of(slot), slot.count);
    }
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    size_t begin = 0;  // in `texts`
    int64_t count = 0;
    uint32_t size = 0;
  };
  struct Part {
    void add(std::string_view piece, uint64_t hash, int64_t count);
    std::string_view text_of(const Slot& slot) const {
      return std::string_view(texts).substr(slot.begin, slot.size);
    }
    void grow();

    std::vector<Slot> slots = {};  // a hash table of a power of two, at most two thirds full
    size_t num_pieces = 0;
    std::string texts = {};
  };
  std::array<Part, kParts> parts_;
};

}  // namespace axle
