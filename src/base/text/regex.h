// Regular expressions of Perl's kind, by PCRE2: no text or pattern exhausts the stack.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

class Regex {
 public:
  /// Throws ConfigError "expected a regular expression, got '(' (missing closing parenthesis)".
  explicit Regex(std::string_view pattern);

  /// The groups, the whole match first, a group that did not take part empty; none where the whole
  /// of `text` does not fit. Throws ConfigError where that is not known after a million steps.
  std::optional<std::vector<std::string>> match(std::string_view text) const;
  /// The same for the first part of `text` that fits.
  std::optional<std::vector<std::string>> search(std::string_view text) const;

 private:
  std::optional<std::vector<std::string>> run(std::string_view text, uint32_t options) const;
  std::string pattern_;
  std::shared_ptr<void> code_;
};

}  // namespace axle
