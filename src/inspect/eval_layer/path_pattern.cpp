#include "inspect/eval_layer/path_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <cctype>
#include <vector>

#include "base/error.h"

namespace axle {
namespace {

constexpr uint32_t kMaxSteps = 10'000'000;  // of one match

// Converts a pattern to a regular expression. Parentheses and | keep their meaning, * and ** are
// translated, and other punctuation is escaped.
std::string regex_of(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (pattern.substr(i).starts_with("**")) {
      out += ".*";
      ++i;
    } else if (c == '*') {
      out += "[^/]*";
    } else if (c == '/' && (out.ends_with(".*") || out.ends_with(".*)"))) {
      out += "(?:/|^|(?<=/))";
    } else if (std::ispunct(static_cast<unsigned char>(c)) && c != '(' && c != ')' && c != '|') {
      out += {'\\', c};
    } else {
      out += c;
    }
  }
  return out;
}

PCRE2_SPTR as_pcre2(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

// Calls literal(text) and group(number) for the parts of "qkv/$1_proj/$2".
template <class Literal, class Group>
void read_replacement(std::string_view replacement, Literal literal, Group group) {
  for (size_t i = 0; i < replacement.size(); ++i) {
    const bool is_sign = replacement[i] == '$' && i + 1 < replacement.size();
    if (is_sign && replacement[i + 1] == '$') {
      literal(replacement.substr(++i, 1));
    } else if (is_sign && std::isdigit(static_cast<unsigned char>(replacement[i + 1]))) {
      group(static_cast<uint32_t>(replacement[++i] - '0'));
    } else {
      literal(replacement.substr(i, 1));
    }
  }
}

std::string without_empty_segments(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c != '/' || (!out.empty() && out.back() != '/')) out += c;
  }
  if (out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace

struct PathPattern::Compiled {
  std::string text;
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code{nullptr, pcre2_code_free};
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits{
      pcre2_match_context_create(nullptr), pcre2_match_context_free};
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match{nullptr,
                                                                            pcre2_match_data_free};
  uint32_t num_groups = 0;
};

PathPattern::PathPattern(std::string_view pattern) : compiled_(std::make_unique<Compiled>()) {
  compiled_->text = pattern;
  const std::string regex = regex_of(pattern);
  int error;
  PCRE2_SIZE offset;
  compiled_->code.reset(pcre2_compile(as_pcre2(regex), regex.size(),
                                      PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOTALL, &error,
                                      &offset, nullptr));
  if (!compiled_->code)
    throw ConfigError(fmt::format("expected balanced parentheses, got '{}'", pattern));
  pcre2_pattern_info(compiled_->code.get(), PCRE2_INFO_CAPTURECOUNT, &compiled_->num_groups);
  compiled_->match.reset(pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr));
  pcre2_set_match_limit(compiled_->limits.get(), kMaxSteps);
}
PathPattern::PathPattern(PathPattern&&) noexcept = default;
PathPattern& PathPattern::operator=(PathPattern&&) noexcept = default;
PathPattern::~PathPattern() = default;

bool PathPattern::matches(std::string_view path) const {
  const int matched = pcre2_match(compiled_->code.get(), as_pcre2(path), path.size(), 0, 0,
                                  compiled_->match.get(), compiled_->limits.get());
  if (matched < 0 && matched != PCRE2_ERROR_NOMATCH) {
    throw ConfigError(fmt::format("expected a pattern that matches quickly, got '{}' for '{}'",
                                  compiled_->text, path.substr(0, 80)));
  }
  return matched > 0;
}

std::optional<std::string> PathPattern::rewrite(std::string_view path,
                                                std::string_view replacement) const {
  if (!matches(path)) return std::nullopt;
  const PCRE2_SIZE* const at = pcre2_get_ovector_pointer(compiled_->match.get());
  std::string out;
  read_replacement(
      replacement, [&](std::string_view text) { out += text; },
      [&](uint32_t group) {
        const PCRE2_SIZE begin = at[2 * group], end = at[2 * group + 1];
        if (begin != PCRE2_UNSET) out += path.substr(begin, end - begin);
      });
  return without_empty_segments(out);
}

void PathPattern::check_replacement(std::string_view replacement) const {
  read_replacement(
      replacement, [](std::string_view) {},
      [&](uint32_t group) {
        if (group == 0 || group > compiled_->num_groups) {
          throw ConfigError(fmt::format("expected $1 to ${}, the groups of '{}', got ${}",
                                        compiled_->num_groups, compiled_->text, group));
        }
      });
}

}  // namespace axle
