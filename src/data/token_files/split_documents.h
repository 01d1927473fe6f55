// The documents of one split of a token file, by their numbers alone.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "data/held_out.h"

namespace axle {

/// The documents of a split, in their order. Of each hundred documents in a row, a share of
/// `fraction` is held out, chosen pseudo-randomly; of two documents or more, at least one, and not
/// all. The choice depends only on the number of
/// documents and `fraction`, never on a seed. Takes at most 8 MiB of memory.
class SplitDocuments {
 public:
  /// Throws DataError "<where>: ..." if the split would be empty. `advice` says how there are more
  /// documents.
  SplitDocuments(int64_t num_documents, Split split, double fraction, std::string_view where,
                 std::string_view advice = "give more");
  int64_t count() const { return before(num_documents_); }
  /// Returns the number of the split's document i, below count().
  int64_t at(int64_t i) const;

 private:
  // A bit for each document of a block that is held out.
  using Held = std::array<uint64_t, 2>;
  int64_t held_before(int64_t document) const;
  int64_t before(int64_t document) const;
  int64_t block_of(int64_t i) const;
  Held held_in(int64_t block) const;

  int64_t num_documents_;
  Split split_;
  double fraction_;
  std::vector<Held> held_ = {};  // of all blocks, unless there are too many
};

}  // namespace axle
