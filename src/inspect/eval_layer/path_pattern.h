// Patterns over the paths of tensors, "decoder/(*)/weight", and what their groups took in.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace axle {

/// `*` is any run of characters without "/", `**` any run of characters ("**/" also none at all),
/// `(...)` a group, `(a|b)` one of both; all else stands for itself.
class PathPattern {
 public:
  /// Throws ConfigError for parentheses that are not balanced.
  explicit PathPattern(std::string_view pattern);
  PathPattern(PathPattern&& other) noexcept;
  PathPattern& operator=(PathPattern&& other) noexcept;
  ~PathPattern();

  /// Whether it fits the whole path. Throws ConfigError where that takes too long to tell.
  bool fits(std::string_view path) const;
  /// `form` with $1, $2, ... replaced by the groups ($$ is a dollar sign) and without empty
  /// segments; none where the pattern does not fit.
  std::optional<std::string> rewrite(std::string_view path, std::string_view form) const;
  /// Throws ConfigError if `form` names a group that the pattern lacks.
  void check_form(std::string_view form) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace axle
