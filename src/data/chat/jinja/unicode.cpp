#include "data/chat/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

#include "base/text/unicode.h"

namespace axle::jinja {
namespace {

utf8proc_category_t category(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

// The one letter whose capital form is two letters in ordinary texts.
constexpr char32_t kSharpS = 0xdf;

void append_upper(std::string& out, char32_t c) {
  if (c == kSharpS)
    out += "SS";
  else
    append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<int32_t>(c))));
}
void append_lower(std::string& out, char32_t c) {
  append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<int32_t>(c))));
}
void append_title(std::string& out, char32_t c) {
  if (c == kSharpS)
    out += "Ss";
  else
    append_utf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<int32_t>(c))));
}

bool is_cased(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL ||
         kind == UTF8PROC_CATEGORY_LT;
}

template <class Fn>
std::string map_characters(std::string_view text, const Fn& append) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) append(out, next_character(text, at));
  return out;
}

template <class Fn>
std::string_view strip_if(std::string_view text, Sides sides, const Fn& goes) {
  size_t begin = 0, end = text.size();
  if (sides != Sides::kRight) {
    for (size_t at = 0; at < end; begin = at) {
      if (!goes(next_character(text, at))) break;
    }
  }
  while (sides != Sides::kLeft && end > begin) {
    size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80) --last;
    size_t at = last;
    if (!goes(next_character(text, at))) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

bool ends_line(char32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

size_t character_bytes(std::string_view text) { return first_code_point(text).size; }

char32_t next_character(std::string_view text, size_t& at) {
  const CodePoint c = first_code_point(text.substr(at));
  at += c.size;
  return c.value;
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

size_t byte_of_character(std::string_view text, size_t number) {
  size_t at = 0;
  while (number > 0 && at < text.size()) {
    at += character_bytes(text.substr(at));
    --number;
  }
  return std::min(at, text.size());
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_bytes(text.substr(at));
    out.push_back(text.substr(at, size));
    at += size;
  }
  return out;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_letter(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return is_cased(c) || kind == UTF8PROC_CATEGORY_LM || kind == UTF8PROC_CATEGORY_LO;
}
bool is_decimal_digit(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_word_part(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return c == '_' || is_letter(c) || kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_NO;
}
bool is_upper(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL; }

std::string upper_text(std::string_view text) { return map_characters(text, append_upper); }

std::string title_text(std::string_view text) {
  bool in_word = false;
  return map_characters(text, [&](std::string& out, char32_t c) {
    in_word ? append_lower(out, c) : append_title(out, c);
    in_word = is_cased(c);
  });
}

std::string capitalized_text(std::string_view text) {
  bool is_first = true;
  return map_characters(text, [&](std::string& out, char32_t c) {
    is_first ? append_title(out, c) : append_lower(out, c);
    is_first = false;
  });
}

std::string swapped_case(std::string_view text) {
  return map_characters(text, [](std::string& out, char32_t c) {
    if (is_upper(c))
      append_lower(out, c);
    else if (is_lower(c))
      append_upper(out, c);
    else
      append_utf8(out, c);
  });
}

std::string_view stripped(std::string_view text, Sides sides) {
  return strip_if(text, sides, is_space);
}

std::string_view stripped_of(std::string_view text, std::string_view set, Sides sides) {
  std::u32string characters;
  for (size_t at = 0; at < set.size();) characters += next_character(set, at);
  std::ranges::sort(characters);
  return strip_if(text, sides,
                  [&](char32_t c) { return std::ranges::binary_search(characters, c); });
}

std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const char32_t c = next_character(text, at);
    if (!ends_line(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    out.push_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) out.push_back(text.substr(begin));
  return out;
}

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return text.npos;
  const void* const found =
      memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : text.npos;
}

}  // namespace axle::jinja
