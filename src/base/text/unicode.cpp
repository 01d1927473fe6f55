#include "base/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "base/text/utf8.h"

namespace axle {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}
bool is_within(char32_t c, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t own = category(c);
  return own >= first && own <= last;
}
bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; });
}

utf8proc_option_t options_of(NormalForm form) {
  switch (form) {
    case NormalForm::kNfc:
      return UTF8PROC_COMPOSE;
    case NormalForm::kNfd:
      return UTF8PROC_DECOMPOSE;
    case NormalForm::kNfkc:
      return static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case NormalForm::kNfkd:
      return static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  }
  AXLE_CHECK(false, "a normal form without a row");
}

// Appends what the character decomposes into.
void append_parts(std::vector<utf8proc_int32_t>& out, char32_t c, utf8proc_option_t options) {
  std::array<utf8proc_int32_t, 32> parts{};  // the longest of Unicode is of 18
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(c), parts.data(), parts.size(), options, nullptr);
  AXLE_CHECK(count >= 0 && count <= std::ssize(parts), utf8proc_errmsg(count));
  out.insert(out.end(), parts.begin(), parts.begin() + count);
}

// Puts the marks of each letter into the canonical order. utf8proc_decompose() does it by
// exchanging neighbours, which takes the square of their number.
void sort_marks(std::vector<utf8proc_int32_t>& characters) {
  const auto class_of = [](utf8proc_int32_t c) {
    return utf8proc_get_property(c)->combining_class;
  };
  for (auto begin = characters.begin(); begin != characters.end();) {
    if (class_of(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end =
        std::find_if(begin, characters.end(), [&](utf8proc_int32_t c) { return class_of(c) == 0; });
    if (!std::ranges::is_sorted(begin, end, {}, class_of))
      std::ranges::stable_sort(begin, end, {}, class_of);
    begin = end;
  }
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(text[i])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {(lead & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (lead < 0xf0) return {(lead & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(lead & 7) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
    }
    put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  while (const auto bad = find_invalid_utf8(text)) {
    out += text.substr(0, *bad);
    out += kReplacement;
    text.remove_prefix(*bad + 1);
  }
  return out += text;
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || is_within(c, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}
bool is_punctuation(char32_t c) { return is_within(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }
bool is_number(char32_t c) { return is_within(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
bool is_mark(char32_t c) { return is_within(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }
bool is_nonspacing_mark(char32_t c) { return category(c) == UTF8PROC_CATEGORY_MN; }
bool is_other(char32_t c) { return is_within(c, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO); }
bool is_word(char32_t c) {
  const utf8proc_category_t own = category(c);
  return (own >= UTF8PROC_CATEGORY_LU && own <= UTF8PROC_CATEGORY_NL) ||
         own == UTF8PROC_CATEGORY_PC || (c >= 0x24b6 && c <= 0x24e9) ||  // letters in circles
         c == 0x200c || c == 0x200d;                                     // joiners
}

std::string unicode_lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_code_point(text, [&](char32_t c) {
    if (c == 0x130) {  // the one character whose lower case is two characters
      out += "i\xcc\x87";
    } else {
      append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
  });
  return out;
}

std::string normal_form(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options_of(form));
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  for_each_code_point(text, [&](char32_t c) { append_parts(characters, c, options); });
  sort_marks(characters);
  const utf8proc_ssize_t size = utf8proc_normalize_utf32(
      characters.data(), static_cast<utf8proc_ssize_t>(characters.size()), options);
  AXLE_CHECK(size >= 0, utf8proc_errmsg(size));
  characters.resize(static_cast<size_t>(size));
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t c : characters) append_utf8(out, static_cast<char32_t>(c));
  return out;
}

size_t first_grapheme(std::string_view text) {
  CodePoint before = first_code_point(text);
  size_t end = before.size;
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    const CodePoint next = first_code_point(text.substr(end));
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before.value),
                                         static_cast<utf8proc_int32_t>(next.value), &state))
      break;
    end += next.size;
    before = next;
  }
  return end;
}

}  // namespace axle
