// UTF-8 text: finds the ends of characters and the first invalid byte, and shows bytes of unknown
// origin safely.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace axle {

enum class Utf8Kind {
  kComplete,   // `size` bytes of one character
  kTruncated,  // all `size` bytes begin a character whose remaining bytes are missing
  kInvalid,    // the first byte (size 1) can't begin a character, or the bytes after it do not fit
};
struct Utf8Step {
  Utf8Kind kind;
  size_t size;
};

/// Classifies the beginning of `text`, which must not be empty. Overlong forms, surrogates and
/// values above U+10FFFF are invalid.
Utf8Step utf8_step(std::string_view text);

/// Returns the index of the first byte of `text` that is not valid UTF-8; none if all of it is
/// valid.
std::optional<size_t> find_invalid_utf8(std::string_view text);

/// Returns one line of valid UTF-8 for a message. Control characters and invalid bytes are written
/// as escapes such as \x1b; a text of more than about `most` bytes ends in "...".
std::string printable(std::string_view text, size_t most = 80);

}  // namespace axle
