#include "inspect/rename.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace axle {
namespace {

constexpr std::string_view kArrow = "->";

// Only parentheses and alternatives keep their meaning as a regular expression.
std::string regex_of(std::string_view pattern) {
  std::string out;
  for (const char c : pattern) {
    if (c == '*') {
      out += "[^/]*";
    } else if (c == '(' || c == ')' || c == '|' || std::isalnum(static_cast<unsigned char>(c)) ||
               c == '_' || c == '/') {
      out += c;
    } else {
      out += std::string("\\") + c;
    }
  }
  return out;
}

}  // namespace

RenameRules::RenameRules(std::string_view text, const std::string& source) : source_(source) {
  int number = 0;
  for (const std::string_view whole : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    const size_t arrow = line.find(kArrow);
    const std::string_view theirs = trim(line.substr(0, arrow));
    const std::string_view ours =
        arrow == line.npos ? "" : trim(line.substr(arrow + kArrow.size()));
    if (theirs.empty() || ours.empty()) {
      throw ConfigError(
          fmt::format("{}:{}: expected 'theirs -> ours', got '{}'", source, number, line));
    }
    try {
      rules_.push_back({std::regex(regex_of(theirs)), std::string(ours)});
    } catch (const std::regex_error&) {
      throw ConfigError(
          fmt::format("{}:{}: expected balanced parentheses, got '{}'", source, number, theirs));
    }
  }
}

std::optional<std::string> RenameRules::apply(const std::string& theirs) const {
  for (const Rule& rule : rules_) {
    std::smatch match;
    if (std::regex_match(theirs, match, rule.theirs)) return match.format(rule.ours);
  }
  return std::nullopt;
}

std::string RenameRules::require(const std::string& theirs) const {
  if (rules_.empty()) return theirs;
  const auto ours = apply(theirs);
  if (!ours)
    throw ConfigError(fmt::format("{}: expected a line that fits '{}', got none", source_, theirs));
  return *ours;
}

}  // namespace axle
