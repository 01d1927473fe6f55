#include "recipes/resolve/use_modifier.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "config/document/serialize.h"
#include "config/registry.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

AnyConfig modifier_named(const std::string& name) {
  for (const std::string& known : names_of(typeid(Modifier))) {
    if (is_name_of(known, name)) return make_config(role_info<Modifier>(), known);
  }
  return make_config(role_info<Modifier>(), name);
}

}  // namespace

bool is_name_of(std::string_view modifier, std::string_view name) {
  return lower_case(modifier) == lower_case(name);
}

std::optional<NamedModifier> named_modifier(const Json& value) {
  if (value.is_string()) return NamedModifier{value.get<std::string>(), nullptr};
  if (!value.is_object()) return {};
  if (const auto name = value.find("class"); name != value.end()) {
    if (!name->is_string()) return {};
    NamedModifier out{name->get<std::string>(), value};
    out.fields.erase("class");
    return out;
  }
  if (value.size() != 1) return {};
  return NamedModifier{value.begin().key(), value.begin().value()};
}

std::vector<Rewrite> apply_modifier_named(const std::string& name, const Json& fields,
                                          Trainer::Config& config) {
  Child<Modifier> modifier;
  modifier.put(modifier_named(name));
  const std::string known(modifier.any().type().name);
  if (!fields.is_null() && !fields.is_object()) {
    throw ConfigError(
        fmt::format("{}: expected a mapping of fields, got {}", known, printable(fields.dump())));
  }
  if (fields.is_object()) from_json(modifier, fields, known);
  return apply_modifier(modifier, "modify", config);
}

NamedModifier UseModifier::named() const {
  if (auto modifier = named_modifier(parse_yaml(text, flag))) return std::move(*modifier);
  throw ConfigError(
      fmt::format("{}: expected one modifier, 'Name' or 'Name: {{field: value}}', got '{}'", flag,
                  printable(text)));
}

std::vector<Rewrite> UseModifier::apply_to(Trainer::Config& config) const {
  const NamedModifier modifier = named();
  return apply_modifier_named(modifier.name, modifier.fields, config);
}

}  // namespace axle
