#include "evaluate/metrics/filter.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "base/text/unicode_regex.h"
#include "config/codec.h"
#include "data/chat/jinja/unicode.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& config, const std::string& name, const std::string& fallback) {
  if (!config.contains(name)) return fallback;
  if (!config[name].is_string()) throw ConfigError(name + ": expected a text, got another value");
  return config[name].get<std::string>();
}

// The match with the number `select`, from the end if it is negative. Of several groups, the first
// that is not empty.
AnswerFilter regex_filter(const Json& config) {
  const UnicodeRegex regex(text_of(config, "regex_pattern", R"(#### (\-?[0-9\.\,]+))"),
                           RegexSyntax::kPython);
  const auto select = Codec<int64_t>::parse(text_of(config, "group_select", "0"));
  const std::string fallback = text_of(config, "fallback", "[invalid]");
  return [=](const std::string& answer) {
    std::vector<std::string> matches;
    UnicodeRegex::Finder finder(regex, answer);
    while (const auto match = finder.next()) {
      const std::vector<std::string_view> groups = finder.groups();
      if (groups.empty()) {
        matches.push_back(answer.substr(match->begin, match->end - match->begin));
        continue;
      }
      const auto first =
          std::ranges::find_if(groups, [](std::string_view text) { return !text.empty(); });
      const bool has_none = first == groups.end();
      matches.emplace_back(has_none ? (groups.size() > 1 ? fallback : "") : *first);
    }
    const int64_t at = select < 0 ? std::ssize(matches) + select : select;
    if (at < 0 || at >= std::ssize(matches)) return fallback;
    return std::string(jinja::stripped(matches[at]));
  };
}

AnswerFilter map_filter(const Json& config) {
  std::map<std::string, std::string> names;
  if (config.contains("mapping_dict")) {
    for (const auto& [from, to] : config["mapping_dict"].items()) {
      if (!to.is_string()) throw ConfigError("mapping_dict: expected texts, got another value");
      names.emplace(from, to.get<std::string>());
    }
  }
  const std::string fallback = text_of(config, "default_value", "None");
  return [=](const std::string& answer) {
    const auto found = names.find(answer);
    return found == names.end() ? fallback : found->second;
  };
}

struct FilterRow {
  std::string name;
  std::vector<std::string> arguments;
  AnswerFilter (*make)(const Json& config);
};

// A model gives one answer, so that all filters that choose among answers choose it.
const std::vector<FilterRow>& filter_rows() {
  static const std::vector<FilterRow> rows = {
      {"lowercase", {}, [](const Json&) { return AnswerFilter(unicode_lower_case); }},
      {"map", {"mapping_dict", "default_value"}, map_filter},
      {"regex", {"regex_pattern", "group_select", "fallback"}, regex_filter},
      {"remove_whitespace",
       {},
       [](const Json&) {
         return AnswerFilter(
             [](const std::string& answer) { return std::string(jinja::stripped(answer)); });
       }},
      {"take_first",
       {},
       [](const Json&) { return AnswerFilter([](std::string answer) { return answer; }); }},
      {"uppercase", {}, [](const Json&) { return AnswerFilter(jinja::upper_text); }}};
  return rows;
}

}  // namespace

std::string FilterChain::apply(std::string answer) const {
  for (const AnswerFilter& filter : filters) answer = filter(std::move(answer));
  return answer;
}

AnswerFilter make_filter(const Json& config) {
  if (!config.is_object() || !config.contains("function"))
    throw ConfigError("expected {function: NAME, ...}, got another value");
  const std::string name = text_of(config, "function", "");
  std::vector<std::string> names;
  for (const FilterRow& row : filter_rows()) {
    names.push_back(row.name);
    if (row.name != name) continue;
    for (const auto& [key, value] : config.items()) {
      if (key == "function" || std::ranges::count(row.arguments, key)) continue;
      throw ConfigError(fmt::format("{}: expected an argument of the filter {} ({}), got another",
                                    key, name, join(row.arguments, ", ")));
    }
    return row.make(config);
  }
  throw ConfigError(fmt::format("expected a filter that is known ({}), got '{}'{}",
                                join(names, ", "), printable(name), suggest(name, names)));
}

}  // namespace axle
