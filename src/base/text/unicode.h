// Characters of Unicode: their properties, case and normal forms, by utf8proc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace axle {

/// A character, and the bytes that it takes in UTF-8.
struct CodePoint {
  char32_t value;
  size_t size;
};

/// Returns the first character of `text`, which must be valid UTF-8 and not empty.
CodePoint first_code_point(std::string_view text);
/// Returns the bytes of the character in UTF-8.
constexpr size_t utf8_size(char32_t c) {
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}
/// Appends the character in UTF-8.
void append_utf8(std::string& text, char32_t c);
/// Returns the text with U+FFFD in place of each byte that does not fit.
std::string to_valid_utf8(std::string_view text);

/// True for the characters of the property White_Space.
bool is_white_space(char32_t c);
/// True for what regular expressions call a word: letters, marks, digits and connectors.
bool is_word(char32_t c);

/// Calls f(c) for each character of valid UTF-8.
template <class F>
void for_each_code_point(std::string_view text, F&& f) {
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    f(c.value);
    text.remove_prefix(c.size);
  }
}

/// Returns the valid UTF-8 in lower case of Unicode 17, character by character (no rules of
/// context).
std::string unicode_lower_case(std::string_view text);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
/// Returns the normal form of valid UTF-8. It is that of Unicode 9, to which the library
/// `tokenizers` keeps: models have learned its ids. Characters that are newer than that stay.
std::string normal_form(std::string_view text, NormalForm form);
/// True for characters for which versions after Unicode 9 added a decomposition or an order
/// among marks.
bool is_new_to_normal_forms(char32_t c);

/// Returns the bytes of the first grapheme cluster (extended) of valid UTF-8, which must not be
/// empty.
size_t first_grapheme(std::string_view text);

// UTF-8 text: finds the ends of characters and the first invalid byte, and shows bytes of unknown
// origin safely.

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
