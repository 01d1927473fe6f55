// Maps whose keys become names of files and records.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace axle {

/// Orders the keys and defines which keys are valid: letters, digits, '_', '-' and '.', with no '.'
/// at the front.
struct NameOrder : std::less<std::string> {
  /// Returns "" for a valid key, else what is wrong with it: "expected a name of letters, ..., got
  /// '../x'".
  static std::string problem(std::string_view key);
};

template <class V>
using NamedMap = std::map<std::string, V, NameOrder>;

}  // namespace axle
