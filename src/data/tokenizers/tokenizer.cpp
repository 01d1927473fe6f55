#include "data/tokenizers/tokenizer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/tokenizers/stream_decoder.h"

namespace axle {

int64_t Tokenizer::encode_memory(std::string_view text) const {
  const EncodeBytes bytes = encode_bytes();
  int64_t longest = 0, stretch = 0;
  bool was_space = false;
  for (const char c : text) {
    const bool is_space = static_cast<uint8_t>(c) <= ' ';
    stretch = is_space == was_space ? stretch + 1 : 1;
    longest = std::max(longest, stretch);
    was_space = is_space;
  }
  return bytes.of_text * std::ssize(text) + bytes.of_stretch * longest;
}

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

int64_t needed_vocab_size(const Tokenizer& tokenizer) {
  const SpecialIds special = tokenizer.special_ids();
  int64_t out = tokenizer.vocab_size();
  const auto is_needed = [&](int64_t at) {
    const auto id = static_cast<int32_t>(at);
    const bool is_special = tokenizer.piece(id).empty() && !tokenizer.token(id).empty();
    return !is_special || id == special.bos || id == special.eos;
  };
  while (out > 0 && !is_needed(out - 1)) --out;
  return out;
}

}  // namespace axle
