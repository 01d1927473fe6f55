// Streams of positions: several numbers for the place of each token (M-RoPE,
// RoPE::Config::streams).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/text/enum_text.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// A number for each token of a text, from 0 on: the tokens before it, the line breaks before it,
/// and the tokens since the last line break. A line break is a newline in the piece of a token.
enum class PositionStream { kToken, kLine, kColumn };
constexpr auto texts_of(PositionStream) {
  return std::to_array<EnumText<PositionStream>>({{PositionStream::kToken, "token"},
                                                  {PositionStream::kLine, "line"},
                                                  {PositionStream::kColumn, "column"}});
}

/// The streams of an input, and what they need to know of the tokens.
struct StreamRule {
  std::vector<PositionStream> streams = {};
  /// Line breaks in the piece of each token id; ids beyond them have none.
  std::vector<int32_t> line_breaks = {};

  /// Writes the numbers of all streams for each token of one text: `out` has ids.size() times the
  /// number of streams.
  void fill(std::span<const int32_t> ids, std::span<int32_t> out) const;
};

/// Returns the rule for texts of a tokenizer; without streams, an empty one.
StreamRule stream_rule(std::vector<PositionStream> streams, const Tokenizer& tokenizer);

}  // namespace axle
