#include "data/position_streams.h"

#include <algorithm>

namespace axle {

void StreamRule::fill(std::span<const int32_t> ids, std::span<int32_t> out) const {
  int32_t token = 0, line = 0, column = 0;
  size_t at = 0;
  for (const int32_t id : ids) {
    for (const PositionStream stream : streams) {
      out[at++] = stream == PositionStream::kToken  ? token
                  : stream == PositionStream::kLine ? line
                                                    : column;
    }
    const auto index = static_cast<size_t>(id);
    const int32_t breaks = index < line_breaks.size() ? line_breaks[index] : 0;
    ++token;
    line += breaks;
    column = breaks > 0 ? 0 : column + 1;
  }
}

StreamRule stream_rule(std::vector<PositionStream> streams, const Tokenizer& tokenizer) {
  StreamRule out{.streams = std::move(streams)};
  if (out.streams.empty()) return out;
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view piece = tokenizer.piece(static_cast<int32_t>(id));
    out.line_breaks.push_back(static_cast<int32_t>(std::ranges::count(piece, '\n')));
  }
  return out;
}

}  // namespace axle
