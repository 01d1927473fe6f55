#include "config/carry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/config_ref.h"
#include "config/document/print.h"
#include "config/document/serialize.h"
#include "config/walk.h"

namespace axle {
namespace {

std::vector<Slot> fields_of(const AnyConfig& config) {
  return children_of(ConfigView(config).slot());
}

// Ranges do not count: two ranged numbers of the same type are equal.
bool same_type(const TypeOps& a, const TypeOps& b) {
  if (*a.type == *b.type) return true;
  if (a.kind != b.kind) return false;
  if (a.bounds && b.bounds) return *a.number_type == *b.number_type;
  return a.value && same_type(*a.element, *b.element);
}

const Slot* find_field(const std::vector<Slot>& fields, const Slot& like) {
  const auto it = std::find_if(fields.begin(), fields.end(), [&](const Slot& f) {
    return f.name == like.name && same_type(*f.ops, *like.ops);
  });
  return it == fields.end() ? nullptr : &*it;
}

// Returns false if the value is out of range for the new field.
bool copy_value(const Slot& from, const Slot& to) {
  if (*from.ops->type == *to.ops->type) {
    to.ops->assign(to.at, from.at);
    return true;
  }
  try {
    from_json(ConfigRef(to), to_json(ConfigView(from)));
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace

std::string_view first_name(std::string_view path) {
  return path.substr(0, path.find_first_of(".["));
}

Carried carry_over(const AnyConfig& from, const AnyConfig& to,
                   std::span<const std::string> set_fields) {
  const AnyConfig fresh = AnyConfig::with_defaults(to.type());
  const std::vector<Slot> old_fields = fields_of(from), new_fields = fields_of(to),
                          defaults = fields_of(fresh);
  const auto is_named = [&](const std::string& field) {
    return std::any_of(set_fields.begin(), set_fields.end(),
                       [&](const std::string& path) { return first_name(path) == field; });
  };
  Carried report;
  for (size_t i = 0; i < new_fields.size(); ++i) {
    const Slot& field = new_fields[i];
    const Slot* old = find_field(old_fields, field);
    if (!old || is_named(field.name) || !same_values(field, defaults[i])) continue;
    (copy_value(*old, field) ? report.carried : report.dropped).push_back(field.name);
  }
  for (const Slot& old : old_fields) {
    if (!find_field(new_fields, old)) report.dropped.push_back(old.name);
  }
  return report;
}

}  // namespace axle
