// Perl-style regular expressions, by PCRE2. No text or pattern can exhaust the stack.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

class Regex {
 public:
  static constexpr uint32_t kMaxSteps = 1'000'000;

  /// A match may take `max_steps`. Throws ConfigError "expected a regular expression, got '('
  /// (missing closing parenthesis)".
  explicit Regex(std::string_view pattern, uint32_t max_steps = kMaxSteps);

  /// Returns the number of groups of the pattern, without the whole match.
  uint32_t num_groups() const;
  /// Matches the whole of `text`. Returns the groups, the whole match first; a group that took no
  /// part is empty. Returns none if `text` does not match. Throws ConfigError if the steps are used
  /// up without an answer.
  std::optional<std::vector<std::string>> match(std::string_view text) const;
  /// Like match(), but finds the first part of `text` that matches.
  std::optional<std::vector<std::string>> search(std::string_view text) const;

 private:
  std::optional<std::vector<std::string>> run(std::string_view text, uint32_t options) const;
  std::string pattern_;
  uint32_t max_steps_;
  std::shared_ptr<void> code_;
};

}  // namespace axle
