#include "data/tokenizers/tokenizer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/tokenizers/stream_decoder.h"

namespace axle {

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  StreamDecoder decoder(*this);
  std::string text;
  for (const int32_t id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

void Tokenizer::check_text_size(std::string_view path, std::string_view text) {
  constexpr size_t kLimit = size_t{1} << 31;
  if (text.size() < kLimit) return;
  throw DataError(
      fmt::format("{}: expected documents of less than {} bytes, got {}; split them, or use --set "
                  "input.source.unit=line",
                  path, kLimit, text.size()));
}

}  // namespace axle
