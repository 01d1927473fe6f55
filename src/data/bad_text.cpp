#include "data/bad_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/utf8.h"

namespace axle {

std::optional<size_t> first_bad_byte(std::string_view text) {
  const size_t bad = std::min(find_invalid_utf8(text).value_or(text.npos), text.find('\0'));
  return bad == text.npos ? std::nullopt : std::optional(bad);
}

std::optional<BadText> bad_text(const std::string& path, int64_t line, std::string_view text) {
  const auto bad = first_bad_byte(text);
  if (!bad) return std::nullopt;
  const std::string_view before = text.substr(0, *bad);
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const bool is_nul = text[*bad] == '\0';
  std::string where = fmt::format("{}:{}", path, line + std::ranges::count(before, '\n'));
  std::string message =
      fmt::format("{}: {} at byte {}", where,
                  is_nul ? "a NUL, which is no text," : "not valid UTF-8", *bad - line_begin + 1);
  return BadText{is_nul ? "with NUL bytes" : "not UTF-8", std::move(where), std::move(message)};
}

}  // namespace axle
