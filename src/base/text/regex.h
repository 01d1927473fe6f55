// Regular expressions: PCRE2's, and those of tokenizers over text in UTF-8.
#pragma once

#include <cstddef>
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

// Patterns that cut text into pieces, over the characters of UTF-8, by PCRE2's compiler to machine
// code. Their syntax is that of the libraries for which published tokenizers are written.

/// Whose meaning a pattern has. \s is the property White_Space, \w letters, marks, digits and
/// connectors in the first two.
enum class RegexSyntax {
  kOniguruma,  // ^ and $ also match at line ends; \h is a hexadecimal digit; [a&&[^b]]
  kRust,       // ^ and $ match at the ends of the text
  kPython      // $ also matches before a last line end; \w is letters, numbers and _
};

class UnicodeRegex {
 public:
  /// Throws ConfigError "expected a regular expression, got '(' (missing closing parenthesis)".
  UnicodeRegex(std::string_view pattern, RegexSyntax syntax);

  struct Match {
    size_t begin, end;
  };
  /// Finds matches one after the other. Belongs to one thread.
  class Finder {
   public:
    /// `regex` and `text`, which must be valid UTF-8, must outlive the finder.
    Finder(const UnicodeRegex& regex, std::string_view text);
    /// Takes another text.
    void start(std::string_view text);
    /// Returns the next match, perhaps an empty one, which is never at the end of the match before;
    /// none at the end. Throws DataError if the pattern needs too much time or memory.
    std::optional<Match> next();
    /// Returns what the groups of the pattern matched; empty for those that took no part. Call it
    /// after a match.
    std::vector<std::string_view> groups() const;

   private:
    const UnicodeRegex* regex_;
    std::string_view text_;
    size_t from_ = 0;
    std::optional<size_t> last_end_;
    std::shared_ptr<void> data_, context_;
  };

 private:
  std::string pattern_;
  std::shared_ptr<void> code_;
};

namespace detail {
/// Returns the pattern in the syntax of PCRE2. Throws ConfigError for a class of characters that
/// PCRE2 can't express.
std::string to_pcre2(std::string_view pattern, RegexSyntax syntax);
}  // namespace detail

}  // namespace axle
