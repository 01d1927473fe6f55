#include "data/chat/jinja/string_literal.h"

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

// Returns the character for an escape of one letter; 0 if it is none.
char simple_escape(char c) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
  const size_t at = kLetters.find(c);
  return at == kLetters.npos ? '\0' : kMeanings[at];
}

// How Python writes a character beyond ASCII before it reads the escapes.
std::string escaped(char32_t c) {
  const auto number = static_cast<uint32_t>(c);
  return c < 0x100     ? fmt::format("x{:02x}", number)
         : c < 0x10000 ? fmt::format("u{:04x}", number)
                       : fmt::format("U{:08x}", number);
}

}  // namespace

std::string unescaped(std::string_view literal, std::string& problem) {
  std::string out;
  out.reserve(literal.size());
  for (size_t at = 0; at < literal.size();) {
    if (literal[at] != '\\') {
      out += literal[at++];
      continue;
    }
    if (++at >= literal.size()) break;
    const char c = literal[at];
    if (c == '\n') {
      ++at;
    } else if (const char simple = simple_escape(c)) {
      out += simple;
      ++at;
    } else if (c >= '0' && c <= '7') {
      char32_t number = 0;
      for (int i = 0; i < 3 && at < literal.size() && digit_of(literal[at]) < 8; ++i, ++at)
        number = number * 8 + static_cast<char32_t>(digit_of(literal[at]));
      append_utf8(out, number);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const int size = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      uint64_t number = 0;
      ++at;
      for (int i = 0; i < size; ++i, ++at) {
        if (at >= literal.size() || digit_of(literal[at]) > 15) {
          problem = fmt::format("an escape \\{} without {} hexadecimal digits", c, size);
          return {};
        }
        number = number * 16 + static_cast<uint64_t>(digit_of(literal[at]));
      }
      if (number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff)) {
        problem = fmt::format("an escape of {:#x}, which is no character", number);
        return {};
      }
      append_utf8(out, static_cast<char32_t>(number));
    } else if (c == 'N') {
      problem = "an escape \\N, which is not supported";
      return {};
    } else if (static_cast<unsigned char>(c) < 0x80) {
      out += '\\';
      out += c;
      ++at;
    } else {
      out += '\\' + escaped(next_character(literal, at));
    }
  }
  return out;
}

}  // namespace axle::jinja
