// Maps whose keys name files and records.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace axle {

/// The order of the keys, and their rule: letters, digits, '_', '-' and '.', the first no '.'.
struct NameOrder : std::less<std::string> {
  /// "" or what is wrong with a key: "expected a name of letters, ..., got '../x'".
  static std::string problem(std::string_view key);
};

template <class V>
using NamedMap = std::map<std::string, V, NameOrder>;

}  // namespace axle
