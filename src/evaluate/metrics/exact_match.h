// Comparison of generated answers with right ones.
//
// Source: lm-evaluation-harness 0.4, the metric exact_match.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/unicode_regex.h"

namespace axle {

/// What does not count when answers are compared.
struct ExactMatchOptions {
  /// What these match is taken out, one after the other.
  std::vector<UnicodeRegex> regexes_to_ignore = {};
  bool ignore_case = false;
  /// ASCII punctuation, and the digits 0 to 9.
  bool ignore_punctuation = false, ignore_numbers = false;
};

/// True if the texts are equal but for what is ignored.
bool is_exact_match(std::string_view answer, std::string_view target,
                    const ExactMatchOptions& options);

}  // namespace axle
