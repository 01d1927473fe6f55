#include "base/text/unicode.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/error.h"

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

// Capitals, and how far behind them their small letters are.
struct Capitals {
  char32_t first, last;
  int32_t distance;
};
// Those that are newer than utf8proc's.
constexpr Capitals kNewCapitals[] = {{0x1c89, 0x1c89, 1},      {0xa7cb, 0xa7cb, 0x264 - 0xa7cb},
                                     {0xa7cc, 0xa7cc, 1},      {0xa7ce, 0xa7ce, 1},
                                     {0xa7d2, 0xa7d2, 1},      {0xa7d4, 0xa7d4, 1},
                                     {0xa7da, 0xa7da, 1},      {0xa7dc, 0xa7dc, 0x19b - 0xa7dc},
                                     {0x10d50, 0x10d65, 0x20}, {0x16ea0, 0x16eb8, 0x1b}};

char32_t lower_case(char32_t c) {
  if (c >= kNewCapitals[0].first) {
    for (const Capitals& own : kNewCapitals) {
      if (c >= own.first && c <= own.last)
        return static_cast<char32_t>(static_cast<int32_t>(c) + own.distance);
    }
  }
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

struct CharacterRange {
  char32_t first, last;
};
// What tools/oracle/normal_forms.py finds, of Unicode 10 to 18.
constexpr CharacterRange kNewToNormalForms[] = {
    {0x558, 0x558},     {0x58b, 0x58c},     {0x5c8, 0x5c9},     {0x7fd, 0x7fd},
    {0x897, 0x89f},     {0x8ca, 0x8d3},     {0x9fe, 0x9fe},     {0xc3c, 0xc3c},
    {0xd3b, 0xd3c},     {0xeba, 0xeba},     {0x1715, 0x1715},   {0x1abf, 0x1af0},
    {0x1df6, 0x1dfa},   {0x209d, 0x209f},   {0x32ff, 0x32ff},   {0xa7f1, 0xa7f4},
    {0xa82c, 0xa82c},   {0xab69, 0xab69},   {0x105c9, 0x105c9}, {0x105e4, 0x105e4},
    {0x10781, 0x10785}, {0x10787, 0x107b0}, {0x107b2, 0x107bf}, {0x10d24, 0x10d27},
    {0x10d69, 0x10d6d}, {0x10eab, 0x10eac}, {0x10ecb, 0x10ecf}, {0x10ef0, 0x10efb},
    {0x10efd, 0x10eff}, {0x10f46, 0x10f50}, {0x10f82, 0x10f85}, {0x11070, 0x11070},
    {0x1133b, 0x1133b}, {0x11383, 0x11383}, {0x11385, 0x11385}, {0x1138e, 0x1138e},
    {0x11391, 0x11391}, {0x113c5, 0x113c5}, {0x113c7, 0x113c8}, {0x113ce, 0x113d0},
    {0x1145e, 0x1145e}, {0x11839, 0x1183a}, {0x11935, 0x11935}, {0x11938, 0x11938},
    {0x1193d, 0x1193e}, {0x11943, 0x11943}, {0x119e0, 0x119e0}, {0x11a34, 0x11a34},
    {0x11a47, 0x11a47}, {0x11a99, 0x11a99}, {0x11d42, 0x11d42}, {0x11d44, 0x11d45},
    {0x11d97, 0x11d97}, {0x11f41, 0x11f42}, {0x16121, 0x16128}, {0x1612f, 0x1612f},
    {0x16d68, 0x16d6a}, {0x16ff0, 0x16ff1}, {0x1b123, 0x1b126}, {0x1ccd6, 0x1ccf9},
    {0x1d127, 0x1d128}, {0x1d250, 0x1d252}, {0x1d25b, 0x1d25c}, {0x1d25f, 0x1d25f},
    {0x1d280, 0x1d281}, {0x1d6a6, 0x1d6a6}, {0x1df95, 0x1df95}, {0x1dfcd, 0x1dfff},
    {0x1e030, 0x1e06d}, {0x1e08f, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae},
    {0x1e2ec, 0x1e2ef}, {0x1e4ec, 0x1e4ef}, {0x1e5ee, 0x1e5ef}, {0x1e6e3, 0x1e6e3},
    {0x1e6e6, 0x1e6e6}, {0x1e6ee, 0x1e6ef}, {0x1e6f5, 0x1e6f5}, {0x1f16c, 0x1f16c},
    {0x1fbf0, 0x1fbf9}};

// Whether 256 characters have one of them. Most texts have none.
constexpr auto kPagesWithNew = [] {
  std::array<bool, 0x200> out{};
  for (const CharacterRange& range : kNewToNormalForms)
    for (char32_t page = range.first >> 8; page <= range.last >> 8; ++page) out[page] = true;
  return out;
}();

bool is_new(utf8proc_int32_t c) { return is_new_to_normal_forms(static_cast<char32_t>(c)); }

// Appends what the character decomposes into.
void append_parts(std::vector<utf8proc_int32_t>& out, char32_t c, utf8proc_option_t options) {
  if (is_new_to_normal_forms(c)) return out.push_back(static_cast<utf8proc_int32_t>(c));
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
    return is_new(c) ? utf8proc_propval_t{0} : utf8proc_get_property(c)->combining_class;
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

// Composes what stands between new characters: none is a part of another one.
void compose(std::vector<utf8proc_int32_t>& characters, utf8proc_option_t options) {
  auto kept = characters.begin();
  for (auto begin = kept; begin != characters.end();) {
    auto end = std::find_if(begin, characters.end(), is_new);
    const utf8proc_ssize_t size = utf8proc_normalize_utf32(&*begin, end - begin, options);
    AXLE_CHECK(size >= 0, utf8proc_errmsg(size));
    kept = std::copy_n(begin, size, kept);
    if (end != characters.end()) *kept++ = *end++;
    begin = end;
  }
  characters.erase(kept, characters.end());
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
      append_utf8(out, lower_case(c));
    }
  });
  return out;
}

bool is_new_to_normal_forms(char32_t c) {
  if (c >> 8 >= kPagesWithNew.size() || !kPagesWithNew[c >> 8]) return false;
  const auto* const range =
      std::ranges::lower_bound(kNewToNormalForms, c, {}, &CharacterRange::last);
  return range != std::end(kNewToNormalForms) && c >= range->first;
}

std::string normal_form(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options_of(form));
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  for_each_code_point(text, [&](char32_t c) { append_parts(characters, c, options); });
  sort_marks(characters);
  compose(characters, options);
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

namespace {

// What the first byte determines: the bytes of the character (0: no character begins with it) and
// the range of the second byte.
struct Lead {
  size_t size;
  uint8_t low, high;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};  // a continuation, or an overlong form of two bytes
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};  // below: overlong
  if (byte == 0xed) return {3, 0x80, 0x9f};  // above: surrogates
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};  // below: overlong
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};  // above: more than U+10FFFF
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.size == 0) return {Utf8Kind::kInvalid, 1};
  const size_t present = std::min(lead.size, text.size());
  for (size_t i = 1; i < present; ++i) {
    const uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xbf;
    if (byte(i) < low || byte(i) > high) return {Utf8Kind::kInvalid, 1};
  }
  return {present == lead.size ? Utf8Kind::kComplete : Utf8Kind::kTruncated, present};
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080u;
  size_t at = 0;
  while (at < text.size()) {
    // Corpora are mostly ASCII, so check eight bytes at once.
    uint64_t word;
    if (text.size() - at >= sizeof(word)) {
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & kHighBits) == 0) {
        at += sizeof(word);
        continue;
      }
    }
    const Utf8Step step = utf8_step(text.substr(at));
    if (step.kind != Utf8Kind::kComplete) return at;
    at += step.size;
  }
  return std::nullopt;
}

std::string printable(std::string_view text, size_t most) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= most) return out + "...";
    const Utf8Step step = utf8_step(text);
    const auto byte = static_cast<uint8_t>(text[0]);
    if (step.kind == Utf8Kind::kComplete && byte >= 0x20 && byte != 0x7f) {
      out += text.substr(0, step.size);
      text.remove_prefix(step.size);
    } else {
      out += fmt::format("\\x{:02x}", byte);
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace axle
