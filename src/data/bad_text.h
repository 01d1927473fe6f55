// What is no text for a tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace axle {

/// Why a text can't be used, as a SkipLog counts it.
struct BadText {
  std::string reason;   // "not UTF-8"
  std::string where;    // "file:line" of the first bad byte
  std::string message;  // with the byte within the line, from 1
};

/// Returns the first byte that is not text: a NUL, or the first invalid UTF-8.
std::optional<size_t> first_bad_byte(std::string_view text);
/// Returns what is wrong with the text that begins at a line of a file.
std::optional<BadText> bad_text(const std::string& path, int64_t line, std::string_view text);

}  // namespace axle
