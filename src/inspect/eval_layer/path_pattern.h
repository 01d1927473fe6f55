// Patterns over the paths of tensors, such as "decoder/(*)/weight", with groups.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/regex.h"

namespace axle {

/// A pattern:
///   *      any characters but "/"
///   **     any characters; "**/" also matches nothing
///   (...)  a group
///   (a|b)  one of both
/// Any other character stands for itself.
class PathPattern {
 public:
  /// Throws ConfigError for parentheses that are not balanced.
  explicit PathPattern(std::string_view pattern);

  /// True if the pattern matches the whole path. Throws ConfigError if matching takes too long.
  bool matches(std::string_view path) const;
  /// Returns `replacement` with $1, $2, ... replaced by the groups ("$$" gives "$"), without empty
  /// segments. none if the pattern does not match.
  std::optional<std::string> rewrite(std::string_view path, std::string_view replacement) const;
  /// Throws ConfigError if `replacement` names a group that the pattern lacks.
  void check_replacement(std::string_view replacement) const;

 private:
  // Returns the groups, the whole path first; none if the pattern does not match.
  std::optional<std::vector<std::string>> match(std::string_view path) const;
  std::string text_;
  Regex regex_;
};

}  // namespace axle
