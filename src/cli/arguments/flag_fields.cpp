#include "cli/arguments/flag_fields.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text/text.h"

namespace axle::cli {
namespace {

bool is_enclosed(std::string_view text, char open, char close) {
  return text.size() > 1 && text.front() == open && text.back() == close;
}

// The parts between commas that are neither in brackets nor in quotes.
std::vector<std::string> split_outside(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (c == ',' && depth <= 0 && quote == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::string flow_value(const std::string& value, bool is_list) {
  const std::string text(trim(value));
  if (is_list && is_enclosed(text, '[', ']')) {
    std::vector<std::string> elements;
    for (const std::string& element : split_outside(text.substr(1, text.size() - 2)))
      elements.push_back(flow_value(element, false));
    return fmt::format("[{}]", join(elements, ", "));
  }
  const bool is_yaml = is_enclosed(text, '"', '"') || is_enclosed(text, '\'', '\'') ||
                       is_enclosed(text, '{', '}') || is_enclosed(text, '[', ']');
  const bool has_signs = text.find_first_of("*&!|>%@`[]{}#:,\"'") != text.npos;
  const std::string out =
      has_signs && !is_yaml
          ? nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
          : text;
  return is_list && !text.empty() ? fmt::format("[{}]", out) : out;
}

}  // namespace

std::vector<FlagField> flag_fields(const char* flag, const std::string& text) {
  std::vector<FlagField> out;
  for (const std::string& field : split_outside(text)) {
    const size_t equals = field.find('=');
    if (equals == field.npos || equals == 0)
      throw CLI::ValidationError(flag, fmt::format("expected FIELD=VALUE, got '{}'", field));
    out.push_back({field.substr(0, equals), field.substr(equals + 1)});
  }
  return out;
}

std::string flow_text(const std::vector<FlagField>& fields, const ConfigType& type) {
  std::vector<std::string> out;
  for (const auto& [name, value] : fields) {
    const auto field = std::ranges::find(type.fields, std::string_view(name), &Field::name);
    const bool is_list = field != type.fields.end() && field->ops->kind == FieldKind::kList;
    out.push_back(fmt::format("{}: {}", name, flow_value(value, is_list)));
  }
  return fmt::format("{{{}}}", join(out, ", "));
}

}  // namespace axle::cli
