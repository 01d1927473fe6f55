// Characters of UTF-8 texts, as Python counts and classifies them. All texts here are valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace axle::jinja {

/// Returns the number of bytes of the character that begins the text.
size_t character_bytes(std::string_view text);
/// Reads the character at `at` and moves `at` behind it.
char32_t next_character(std::string_view text, size_t& at);
size_t count_characters(std::string_view text);
/// Returns the byte at which the character with this number begins; the size of the text if there
/// are fewer.
size_t byte_of_character(std::string_view text, size_t number);
std::vector<std::string_view> characters_of(std::string_view text);

bool is_space(char32_t character);
bool is_printable(char32_t character);
bool is_letter(char32_t character);
bool is_decimal_digit(char32_t character);
/// A letter, a number or an underscore: \w of Python's regular expressions.
bool is_word_part(char32_t character);
bool is_upper(char32_t character);
bool is_lower(char32_t character);

/// True if the text has a character of the one kind, such as is_upper, and none of the other.
template <bool (*kIsOne)(char32_t), bool (*kIsOther)(char32_t)>
bool is_of_case(std::string_view text) {
  bool has_one = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (kIsOther(c)) return false;
    has_one = has_one || kIsOne(c);
  }
  return has_one;
}

std::string upper_text(std::string_view text);
/// Each word begins with a capital, where words are runs of letters: "it's" becomes "It'S".
std::string title_text(std::string_view text);
/// The first character as a capital, the rest in lower case.
std::string capitalized_text(std::string_view text);
std::string swapped_case(std::string_view text);

enum class Sides { kBoth, kLeft, kRight };
/// Returns the text without white space at its ends.
std::string_view stripped(std::string_view text, Sides sides = Sides::kBoth);
/// Returns the text without any of the characters of `set` at its ends.
std::string_view stripped_of(std::string_view text, std::string_view set, Sides sides);
/// Returns the lines, without their ends unless `keep_ends`.
std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends = false);

/// Returns where `part` is in the text at `from` or later; npos if it is not. Takes time in
/// proportion to the text, for any part.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);

}  // namespace axle::jinja
