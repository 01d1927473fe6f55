// A text on its way through a tokenizer: cut into pieces, each of which is encoded by itself.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

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

}  // namespace axle
