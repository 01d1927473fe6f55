// Pairs of characters that stand side by side in the tokens of a vocabulary: no token reaches over
// the place between two others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "data/tokenizers/parts/token_model.h"

namespace axle {

/// Returns the bytes of a character of valid UTF-8 by its first one.
inline size_t character_size(char first) {
  const auto byte = static_cast<uint8_t>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

class CharacterPairs {
 public:
  /// Adds those of a token, which is not empty.
  void add_all(std::string_view token) {
    words_are_apart_ = words_are_apart_ && !has_inner_space(token);
    for (size_t at = 0, next; (next = at + character_size(token[at])) < token.size(); at = next) {
      const size_t slot = slot_of(character(token, at), character(token, next));
      bits_[slot / 64] |= uint64_t{1} << slot % 64;
    }
  }

  /// True if no token has the symbol of a space behind another character.
  bool words_are_apart() const { return words_are_apart_; }

  /// Returns the end of the characters from `begin` on of which each is a pair with the next. A few
  /// of the pairs were not added, but none of those lies between words that are apart.
  size_t end_of_stretch(std::string_view text, size_t begin) const {
    uint32_t left = character(text, begin);
    for (size_t at = begin + character_size(text[begin]); at < text.size();) {
      const uint32_t right = character(text, at);
      if (!may_hold(left, right)) return at;
      left = right;
      at += character_size(text[at]);
    }
    return text.size();
  }

 private:
  static constexpr int kSlotBits = 17;
  static constexpr uint32_t kSpace = 0xe29681;  // kMetaSpace
  bool may_hold(uint32_t left, uint32_t right) const {
    if (words_are_apart_ && right == kSpace && left != kSpace) return false;
    const size_t slot = slot_of(left, right);
    return bits_[slot / 64] >> slot % 64 & 1;
  }
  // The bytes of a character, as a number.
  static uint32_t character(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return uint32_t{static_cast<uint8_t>(text[at + i])}; };
    uint32_t out = byte(0);
    const size_t size = std::min(character_size(text[at]), text.size() - at);
    for (size_t i = 1; i < size; ++i) out = out << 8 | byte(i);
    return out;
  }
  static size_t slot_of(uint32_t left, uint32_t right) {
    return (left * 0x9e3779b1u ^ right) * 0x85ebca77u >> (32 - kSlotBits);
  }

  bool words_are_apart_ = true;
  std::vector<uint64_t> bits_ = std::vector<uint64_t>((size_t{1} << kSlotBits) / 64);
};

}  // namespace axle
