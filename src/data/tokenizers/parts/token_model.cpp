#include "data/tokenizers/parts/token_model.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>
#include <vector>

#include "base/text/unicode.h"

namespace axle {

void Vocabulary::add(std::string token, int32_t id) {
  const std::string& stored = tokens_.emplace_back(std::move(token));
  const auto index = static_cast<size_t>(id);
  if (by_id_.size() <= index) by_id_.resize(index + 1);
  by_id_[index] = &stored;
  ids_[stored] = id;
}

const std::string* Vocabulary::token(int64_t id) const {
  return id >= 0 && id < end_id() ? by_id_[id] : nullptr;
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

WordPieceModel::WordPieceModel(Vocabulary vocabulary, Options options)
    : TokenModel(std::move(vocabulary)), options_(std::move(options)) {
  const std::string& prefix = options_.continuing_prefix;
  std::vector<ByteTrie::Entry> beginnings, continuations;
  for (int64_t i = 0; i < vocabulary_.end_id(); ++i) {
    const std::string* const token = vocabulary_.token(i);
    if (!token) continue;
    const std::string_view text = *token;
    const int32_t id = *vocabulary_.find(text);
    if (!text.empty()) beginnings.push_back({text, id});
    if (text.starts_with(prefix) && text.size() > prefix.size())
      continuations.push_back({text.substr(prefix.size()), id});
  }
  beginnings_ = ByteTrie(std::move(beginnings));
  continuations_ = ByteTrie(std::move(continuations));
}

void WordPieceModel::encode_uncached(std::string_view piece, std::vector<int32_t>& ids) const {
  int64_t num_characters = 0;
  for_each_code_point(piece, [&](char32_t) { ++num_characters; });
  if (num_characters > options_.max_characters) return ids.push_back(options_.unknown);
  const size_t first = ids.size();
  for (size_t begin = 0; begin < piece.size();) {
    const ByteTrie& tokens = begin == 0 ? beginnings_ : continuations_;
    size_t longest = 0;
    int32_t id = 0;
    tokens.prefixes(piece.substr(begin), [&](size_t size, int32_t value) {
      longest = size;
      id = value;
    });
    if (longest == 0) {
      ids.resize(first);
      return ids.push_back(options_.unknown);
    }
    ids.push_back(id);
    begin += longest;
  }
}

}  // namespace axle
