#include "evaluate/metrics/exact_match.h"

#include <algorithm>

#include "base/text/unicode.h"

namespace axle {
namespace {

constexpr std::string_view kPunctuation = R"(!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~)";

std::string without(const UnicodeRegex& regex, std::string_view text) {
  std::string out;
  size_t at = 0;
  UnicodeRegex::Finder finder(regex, text);
  while (const auto match = finder.next()) {
    out += text.substr(at, match->begin - at);
    at = match->end;
  }
  out += text.substr(at);
  return out;
}

std::string compared(std::string_view text, const ExactMatchOptions& options) {
  std::string out(text);
  for (const UnicodeRegex& regex : options.regexes_to_ignore) out = without(regex, out);
  if (options.ignore_case) out = unicode_lower_case(out);
  const auto is_ignored = [&](char c) {
    return (options.ignore_punctuation && kPunctuation.find(c) != kPunctuation.npos) ||
           (options.ignore_numbers && c >= '0' && c <= '9');
  };
  std::erase_if(out, is_ignored);
  return out;
}

}  // namespace

bool is_exact_match(std::string_view answer, std::string_view target,
                    const ExactMatchOptions& options) {
  return compared(answer, options) == compared(target, options);
}

}  // namespace axle
