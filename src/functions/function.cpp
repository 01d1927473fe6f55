#include "functions/function.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/yaml.h"

namespace axle {
namespace {

using Families = std::vector<std::vector<Function> (*)()>;

Families& families() {
  static Families all;
  return all;
}

// Splits "x, axes=[0, 1]" at the commas outside of brackets.
std::vector<std::string_view> split_parameters(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (const std::string_view part = trim(text.substr(begin, i - begin)); !part.empty())
        out.push_back(part);
      begin = i + 1;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']') {
      --depth;
    }
  }
  return out;
}

}  // namespace

std::vector<const Parameter*> Function::operands() const {
  std::vector<const Parameter*> out;
  for (const Parameter& p : parameters) {
    if (p.kind != Parameter::Kind::kAttribute) out.push_back(&p);
  }
  return out;
}

std::string Function::text() const {
  std::vector<std::string> out;
  for (const Parameter& p : parameters) {
    std::string one = p.name;
    if (p.kind == Parameter::Kind::kTensors) one += "...";
    if (p.kind == Parameter::Kind::kAttribute) one += ": " + p.type;
    if (p.default_text) one += p.default_text->empty() ? " = default" : " = " + *p.default_text;
    out.push_back(std::move(one));
  }
  return fmt::format("{}({})", name, join(out, ", "));
}

Signature parse_signature(std::string_view text, size_t num_parameters) {
  const size_t open = text.rfind('(');
  AXLE_CHECK(open != text.npos && text.ends_with(')'), text);
  const std::string_view names = text.substr(0, open);
  const size_t colon = names.find(": ");
  Signature out;
  out.name = names.substr(0, colon);
  out.cpp_name = colon == names.npos ? names : names.substr(colon + 2);
  for (const std::string_view part :
       split_parameters(text.substr(open + 1, text.size() - open - 2))) {
    const size_t equals = part.find('=');
    out.parameters.push_back(
        {.name = std::string(trim(part.substr(0, equals))), .default_text = {}});
    if (equals != part.npos) out.parameters.back().default_text = part.substr(equals + 1);
  }
  AXLE_CHECK(out.parameters.size() == num_parameters, text);
  return out;
}

namespace detail {

nlohmann::ordered_json value_of(const SignatureName& attribute, const FunctionCall& call) {
  const auto it = call.attributes.find(attribute.name);
  if (it != call.attributes.end()) return *it;
  return parse_yaml(attribute.default_text.value_or(""), attribute.name);
}

void fail_attribute(std::string_view name, const std::exception& error) {
  throw ConfigError(fmt::format("{}: {}", name, error.what()));
}

}  // namespace detail

FunctionFamily::FunctionFamily(std::vector<Function> (*rows)()) { families().push_back(rows); }

const std::vector<Function>& all_functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> out;
    for (const auto rows : families()) std::ranges::move(rows(), std::back_inserter(out));
    std::ranges::stable_sort(out, {}, &Function::name);
    return out;
  }();
  return all;
}

}  // namespace axle
