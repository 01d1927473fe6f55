#include "comparison/functions/function.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/yaml.h"
#include "comparison/functions/function_row.h"

namespace axle {

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

namespace detail {

std::vector<DeclaredParameter> declared_parameters(std::string_view text) {
  std::vector<DeclaredParameter> out;
  for (const std::string_view part : split(text, ';')) {
    const size_t equals = part.find('=');
    out.push_back({std::string(part.substr(0, equals)), {}});
    if (equals != part.npos) out.back().default_text = part.substr(equals + 1);
  }
  return out;
}

nlohmann::ordered_json value_of(const DeclaredParameter& attribute, const FunctionCall& call) {
  const auto it = call.attributes.find(attribute.name);
  if (it != call.attributes.end()) return *it;
  return parse_yaml(attribute.default_text.value_or(""), attribute.name);
}

void fail_attribute(std::string_view name, const std::exception& error) {
  throw ConfigError(fmt::format("{}: {}", name, error.what()));
}

void sort_parameters(std::vector<Parameter>& parameters) {
  const auto is_function = [](const Parameter& p) {
    return p.type.find("function") != p.type.npos;
  };
  if (std::ranges::none_of(parameters, is_function)) return;
  std::ranges::stable_sort(parameters, {}, [&](const Parameter& p) {
    return p.kind != Parameter::Kind::kAttribute ? 0 : is_function(p) ? 1 : 2;
  });
}

}  // namespace detail

// Written by cmake/function_table.py.
void add_functions(std::vector<Function>& out);
namespace random {
void add_random_functions(std::vector<Function>& out);
}

const std::vector<Function>& all_functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> out;
    add_functions(out);
    random::add_random_functions(out);
    std::ranges::stable_sort(out, {}, &Function::name);
    return out;
  }();
  return all;
}

}  // namespace axle
