#include "data/tokenizers/parts/sentencepiece_normalizer.h"

#include <utility>

#include "base/text/unicode.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {

SentencePieceNormalizer::SentencePieceNormalizer(std::optional<CharsMap> characters, ByteTrie users,
                                                 Spaces spaces)
    : characters_(std::move(characters)), users_(std::move(users)), spaces_(spaces) {
  for (uint8_t c = 0; c < 128; ++c)
    is_plain_[c] = !users_.begins_with(c) && (!characters_ || characters_->keeps_in_ascii(c));
  space_is_plain_ = std::exchange(is_plain_[' '], false);
  std::string text;
  for (char32_t c = 0x80; c < is_kept_.size(); ++c) {
    text.clear();
    append_utf8(text, c);
    is_kept_[c] = !users_.begins_with(static_cast<uint8_t>(text[0])) &&
                  (!characters_ || !characters_->may_begin_with(text));
  }
}

// The bytes at the beginning that stay as they are, without spaces.
size_t SentencePieceNormalizer::plain_size(std::string_view text) const {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (size_t at = 0; at < text.size();) {
    const uint8_t first = byte(at);
    if (first < 128) {
      if (!is_plain_[first]) return at;
      do {
        ++at;
      } while (at < text.size() && is_plain_[byte(at)]);
      if (at < text.size() && byte(at) >= 128) return at - 1;
    } else if ((first & 0xf0) == 0xe0 && at + 3 <= text.size()) {
      if (!is_kept_[(first & 0xfu) << 12 | (byte(at + 1) & 0x3fu) << 6 | (byte(at + 2) & 0x3fu)])
        return at;
      at += 3;
    } else if ((first & 0xe0) == 0xc0 && at + 2 <= text.size()) {
      if (!is_kept_[(first & 0x1fu) << 6 | (byte(at + 1) & 0x3fu)]) return at;
      at += 2;
    } else {
      return at;
    }
  }
  return text.size();
}

// What the beginning of a text becomes, and its bytes: at least a character.
CharsMap::Found SentencePieceNormalizer::first_of(std::string_view text) const {
  size_t user_size = 0;
  users_.prefixes(text, [&](size_t size, int32_t) { user_size = size; });
  if (user_size > 0) return {text.substr(0, user_size), user_size};
  if (characters_) {
    if (const auto found = characters_->find_longest(text)) return *found;
  }
  const size_t size = first_code_point(text).size;
  return {text.substr(0, size), size};
}

std::string SentencePieceNormalizer::operator()(std::string_view text, bool adds_space) const {
  adds_space &= spaces_.add;
  while (spaces_.join && !text.empty()) {
    const auto [first, size] = first_of(text);
    if (first != " ") break;
    text.remove_prefix(size);
  }
  std::string out;
  if (text.empty()) return out;
  out.reserve(text.size() + text.size() / 2);
  if (adds_space && !spaces_.are_behind) out += kMetaSpace;
  bool was_space = spaces_.join;
  while (!text.empty()) {
    if (text[0] == ' ' && space_is_plain_ &&
        (text.size() == 1 || static_cast<uint8_t>(text[1]) < 128)) {
      if (!was_space) out += kMetaSpace;
      was_space = spaces_.join;
      text.remove_prefix(1);
      continue;
    }
    const size_t run = plain_size(text);
    if (run > 0) {
      out += text.substr(0, run);
      text.remove_prefix(run);
      was_space = false;
      continue;
    }
    auto [first, size] = first_of(text);
    text.remove_prefix(size);
    while (was_space && first.starts_with(' ')) first.remove_prefix(1);
    if (first.empty()) continue;
    for (const char c : first) {
      if (c == ' ')
        out += kMetaSpace;
      else
        out += c;
    }
    was_space = spaces_.join && first.back() == ' ';
  }
  while (spaces_.join && out.ends_with(kMetaSpace)) out.resize(out.size() - kMetaSpace.size());
  if (adds_space && spaces_.are_behind) out += kMetaSpace;
  return out;
}

}  // namespace axle
