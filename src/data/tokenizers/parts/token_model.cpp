#include "data/tokenizers/parts/token_model.h"

#include <fmt/format.h>

#include <charconv>

namespace axle {

void Vocabulary::add(std::string token, int32_t id) {
  const std::string& stored = tokens_.emplace_back(std::move(token));
  const auto index = static_cast<size_t>(id);
  if (by_id_.size() <= index) by_id_.resize(index + 1);
  by_id_[index] = &stored;
  ids_[stored] = id;
}

const std::string* Vocabulary::token(int64_t id) const {
  return id >= 0 && id < end_id() ? by_id_[static_cast<size_t>(id)] : nullptr;
}

bool has_inner_space(std::string_view text) {
  size_t at = 0;
  while (text.substr(at).starts_with(kMetaSpace)) at += kMetaSpace.size();
  return text.find(kMetaSpace, at) != text.npos;
}

std::string byte_token(uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

std::optional<uint8_t> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
  uint8_t byte = 0;
  const char* const end = token.data() + 5;
  const auto result = std::from_chars(token.data() + 3, end, byte, 16);
  return result.ec == std::errc() && result.ptr == end ? std::optional(byte) : std::nullopt;
}

}  // namespace axle
