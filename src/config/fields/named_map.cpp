#include "config/fields/named_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text/utf8.h"

namespace axle {

std::string NameOrder::problem(std::string_view key) {
  constexpr size_t kLongest = 100;  // file names have at most 255 bytes
  const auto may_stand = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  const bool good = !key.empty() && key.size() <= kLongest && key[0] != '.' &&
                    std::all_of(key.begin(), key.end(), may_stand);
  if (good) return {};
  return fmt::format(
      "expected a name of 1 to {} letters, digits, '_', '-' and '.', not beginning with '.', got "
      "'{}'",
      kLongest, printable(key));
}

}  // namespace axle
