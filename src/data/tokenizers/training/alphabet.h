// What the pieces of a text begin as, before the first merge.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/training/merges/piece_counts.h"

namespace axle {

/// The symbols of an alphabet, which are the first tokens behind the special ones.
class SymbolTable {
 public:
  virtual ~SymbolTable() = default;
  /// The names of the symbols in the order of their ids, of which the first is given.
  virtual std::vector<std::string> names() const = 0;
  /// Appends the ids of a piece. A break, -1, stands where merges end.
  virtual void append_ids(std::string_view piece, std::vector<int32_t>& ids) const = 0;
};

/// The 256 bytes, named as in byte_level.h, in the order of these names.
std::unique_ptr<SymbolTable> byte_symbols(int32_t first_id);
/// The 256 bytes by their names ("<0x0A>"), then the most frequent characters of the pieces, as
/// many as cover that share of all, in the order of their code points. Other characters are breaks.
std::unique_ptr<SymbolTable> character_symbols(int32_t first_id, const PieceCounts& pieces,
                                               double coverage);

}  // namespace axle
