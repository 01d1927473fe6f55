// Decoders: what text a token stands for. Named and behaving as in Hugging Face's library.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Turns tokens into the bytes that they stand for, each by itself.
struct TokenDecoder {
  /// Changes a token to text, one after the other.
  std::vector<std::function<void(std::string&)>> steps = {};
  /// What happens to a space before the first token.
  LeadingSpace leading_space = LeadingSpace::kKeep;
  /// How bytes that do not fit are shown.
  InvalidBytes invalid_bytes = InvalidBytes::kEach;

  std::string operator()(std::string token) const {
    for (const auto& step : steps) step(token);
    return token;
  }
};

/// Bytes for characters of the alphabet of byte_level.h; a token with others stands for itself.
void decode_byte_level(std::string& token);
/// The byte for "<0x0A>"; other tokens stand for themselves.
void decode_byte_token(std::string& token);
/// The text without `prefix`; tokens without it begin a word, which a space precedes. If `cleanup`,
/// spaces before punctuation and contractions of English are removed.
std::function<void(std::string&)> decode_word_piece(std::string prefix, bool cleanup);
/// Removes up to `left` and `right` times the text at the ends.
std::function<void(std::string&)> strip_text(std::string text, size_t left, size_t right);

}  // namespace axle
