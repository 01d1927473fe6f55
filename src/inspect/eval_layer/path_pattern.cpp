#include "inspect/eval_layer/path_pattern.h"

#include <fmt/format.h>

#include <cctype>

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

Regex compiled(std::string_view pattern) {
  try {
    return Regex("(?s)" + regex_of(pattern), kMaxSteps);  // "." also matches a newline
  } catch (const ConfigError&) {
    throw ConfigError(fmt::format("expected balanced parentheses, got '{}'", pattern));
  }
}

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

PathPattern::PathPattern(std::string_view pattern) : text_(pattern), regex_(compiled(pattern)) {}

std::optional<std::vector<std::string>> PathPattern::match(std::string_view path) const {
  try {
    return regex_.match(path);
  } catch (const ConfigError&) {
    throw ConfigError(fmt::format("expected a pattern that matches quickly, got '{}' for '{}'",
                                  text_, path.substr(0, 80)));
  }
}

bool PathPattern::matches(std::string_view path) const { return match(path).has_value(); }

std::optional<std::string> PathPattern::rewrite(std::string_view path,
                                                std::string_view replacement) const {
  const auto groups = match(path);
  if (!groups) return std::nullopt;
  std::string out;
  read_replacement(
      replacement, [&](std::string_view text) { out += text; },
      [&](uint32_t group) { out += groups->at(group); });
  return without_empty_segments(out);
}

void PathPattern::check_replacement(std::string_view replacement) const {
  const uint32_t num_groups = regex_.num_groups();
  read_replacement(
      replacement, [](std::string_view) {},
      [&](uint32_t group) {
        if (group == 0 || group > num_groups) {
          throw ConfigError(fmt::format("expected $1 to ${}, the groups of '{}', got ${}",
                                        num_groups, text_, group));
        }
      });
}

}  // namespace axle
