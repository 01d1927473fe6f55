// Where characters begin and end in UTF-8 text, where it stops being UTF-8, and how bytes of
// unknown origin are shown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace axle {

enum class Utf8Kind {
  kWhole,    // `size` bytes of one character
  kCut,      // all `size` bytes that are there begin a character, and more must follow
  kInvalid,  // the first byte (size 1) can't begin a character, or what follows it does not fit
};
struct Utf8Step {
  Utf8Kind kind;
  size_t size;
};

/// Looks at the beginning of `text`, which must not be empty. Overlong forms, surrogates and values
/// above U+10FFFF are invalid.
Utf8Step utf8_step(std::string_view text);

/// Index of the first byte of `text` at which it is not valid UTF-8; none if all of it is.
std::optional<size_t> find_invalid_utf8(std::string_view text);

/// One line of valid UTF-8 for a message: control characters and bytes that are no character as
/// "\x1b", and "..." after about `most` bytes.
std::string printable(std::string_view text, size_t most = 80);

}  // namespace axle
