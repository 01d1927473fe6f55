#include "modifiers/field_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "config/carry.h"
#include "config/document/print.h"
#include "config/find_slot.h"
#include "config/mistakes.h"
#include "config/registry.h"
#include "config/set.h"
#include "config/walk.h"

namespace axle {
namespace {

// Returns the text of the subtree at a path; none if there is no such field or element.
std::optional<std::string> text_at(const ConfigView& root, std::string_view path) {
  try {
    return to_string(ConfigView(find_slot(root, path)));
  } catch (const ConfigError&) {
    return {};
  }
}

// Throws ConfigError unless a class that the selector selects has the field.
void check_field(const Selector& select, std::string_view path, const std::string& where) {
  const std::string_view field = first_name(path);
  std::vector<std::string> names;
  for (const ConfigType* type : registered_configs()) {
    const bool is_selected =
        select.derived ? derives_from(*type->owner, *select.type) : *type->owner == *select.type;
    if (!is_selected) continue;
    for (const Field& f : type->fields) {
      if (f.name == field) return;
      if (std::ranges::count(names, f.name) == 0) names.emplace_back(f.name);
    }
  }
  fail_no_slot(where, field, names, "field");
}

// Calls fn(), whose mistakes are those of a modifier's field.
template <class F>
decltype(auto) at_field(std::string_view name, std::string_view field, F fn) {
  try {
    return fn();
  } catch (const ConfigError& error) {
    throw ConfigError(with_location(fmt::format("{}.{}", name, field), error.what()));
  }
}

}  // namespace

SetTexts set_texts(ConfigRef root, const FieldTexts& texts, std::string_view root_name) {
  std::vector<std::optional<std::string>> before;
  for (const auto& [path, text] : texts) before.push_back(text_at(root, path));
  SetTexts out;
  Mistakes mistakes;
  for (const auto& one : texts) {
    mistakes.attempt([&] {
      std::ranges::move(set(root, one.first, one.second, root_name),
                        std::back_inserter(out.classes));
    });
  }
  mistakes.throw_any();
  auto old = before.begin();
  for (const auto& [path, text] : texts) {
    auto& fields = *old++ == text_at(root, path) ? out.fields.unchanged : out.fields.matched;
    fields.push_back(join_config_path(root_name, path));
  }
  return out;
}

Selector select_texts(std::string_view class_or_role, std::string_view at, const FieldTexts& where,
                      std::string_view name, std::string_view field) {
  Selector out = at_field(name, field, [&] { return select_by_name(class_or_role); });
  out.at = at;
  if (where.empty()) return out;
  const std::string place = fmt::format("{}.where", name);
  for (const auto& [path, text] : where) check_field(out, path, place);
  out.where = [where, place](const std::string&, const AnyConfig& config) {
    return std::ranges::all_of(where, [&](const auto& condition) {
      const auto& [path, text] = condition;
      AnyConfig copy = config;
      const std::optional<std::string> before = text_at(copy, path);
      if (!before) return false;
      set(copy, path, text, place);
      return text_at(copy, path) == before;
    });
  };
  return out;
}

const ConfigType& class_named(std::string_view class_name, std::string_view name,
                              std::string_view field) {
  return at_field(name, field, [&]() -> const ConfigType& { return find_config_type(class_name); });
}

}  // namespace axle
