#include "config/named_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/utf8.h"

namespace axle {

std::string NameOrder::problem(std::string_view key) {
  const auto may_stand = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  if (!key.empty() && key[0] != '.' && std::all_of(key.begin(), key.end(), may_stand)) return {};
  return fmt::format(
      "expected a name of letters, digits, '_', '-' and '.' that begins with no '.', got '{}'",
      printable(key));
}

}  // namespace axle
