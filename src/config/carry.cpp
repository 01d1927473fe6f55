#include "config/carry.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <typeindex>

#include "base/error.h"
#include "config/print.h"

namespace axle {
namespace {

std::map<std::type_index, const CarryRule*>& rules() {
  static std::map<std::type_index, const CarryRule*> all;
  return all;
}

const CarryRule* rule_of(const ConfigType& type) {
  for (const std::type_info* const owner : {type.owner, type.role ? type.role->type : nullptr}) {
    const auto it = owner ? rules().find(*owner) : rules().end();
    if (it != rules().end()) return it->second;
  }
  return nullptr;
}

std::string_view around_field(const ConfigType& type) {
  const CarryRule* const rule = rule_of(type);
  return rule ? rule->around : std::string_view();
}

// Returns the fields that are not set: those with their default that `set_fields` does not name.
std::vector<Slot> free_fields(const AnyConfig& config, std::span<const std::string> set_fields) {
  const AnyConfig fresh = AnyConfig::with_defaults(config.type());
  const std::vector<Slot> fields = children_of(config), defaults = children_of(fresh);
  std::set<std::string_view> named;
  for (const std::string& path : set_fields)
    named.insert(config.type().present_name(first_name(path)));
  std::vector<Slot> out;
  for (size_t i = 0; i < fields.size(); ++i)
    if (!named.contains(fields[i].name) && same_values(fields[i], defaults[i]))
      out.push_back(fields[i]);
  return out;
}

// Neither ranges of numbers count, nor whether a field may or must be set.
bool same_type(const Slot& a, const Slot& b) {
  const TypeOps &one = inner_type(a), &other = inner_type(b);
  return *one.type == *other.type ||
         (one.bounds && other.bounds && *one.number_type == *other.number_type);
}

const Slot* find_field(const std::vector<Slot>& fields, const Slot& like) {
  const auto it = std::ranges::find_if(
      fields, [&](const Slot& f) { return f.name == like.name && same_type(f, like); });
  return it == fields.end() ? nullptr : &*it;
}

// Copies the value of a field of the same type. Drops a number out of the new range.
void carry_value(const Slot& from, const Slot& to, Carried& report) {
  const Slot value = unwrap(from);
  const TypeOps& type = inner_type(to);
  bool fits = true;
  if (*from.ops->type == *to.ops->type) {
    to.ops->assign(to.at, from.at);
  } else if (is_unset(value) && from.ops->kind == to.ops->kind) {
    to.ops->clear(to.at);
  } else if (is_unset(value)) {
    if (!is_unset(to)) return;  // it keeps its default
    fits = false;
  } else if (*value.ops->type == *type.type) {
    type.assign(made(to).at, value.at);
  } else {
    fits = expected_instead(value.ops->number(value.at), *type.bounds, type.is_integer()).empty();
    nlohmann::ordered_json document;
    value.ops->write(value.at, document);
    if (fits) type.read(made(to).at, document);
  }
  (fits ? report.carried : report.dropped).push_back(to.name);
}

Carried carry_fields(const AnyConfig& from, const AnyConfig& to,
                     std::span<const std::string> set_fields) {
  const std::vector<Slot> old_fields = children_of(from), new_fields = children_of(to);
  Carried report;
  for (const Slot& field : free_fields(to, set_fields)) {
    if (const Slot* const old = find_field(old_fields, field)) carry_value(*old, field, report);
  }
  for (const Slot& old : old_fields)
    if (!find_field(new_fields, old)) report.dropped.push_back(old.name);
  return report;
}

// Carries into a config that another one holds by default. Where that has a function of another
// class than the old one, the function takes the fields of the old function.
Carried carry_inside(const AnyConfig& from, const AnyConfig& inner) {
  Carried report = carry_fields(from, inner, {});
  const std::vector<Slot> old_fields = children_of(from);
  for (const Slot& field : children_of(inner)) {
    const Slot* const old = find_field(old_fields, field);
    if (!old || unwrap(field).ops->kind != FieldKind::kFn) continue;
    const AnyConfig *const old_held = held_config(*old), *const held = held_config(field);
    if (!old_held || !held || &old_held->type() == &held->type()) continue;
    for (const std::string& name : carry_fields(*old_held, *held, {}).carried)
      report.carried.push_back(join_config_path(field.name, name));
  }
  return report;
}

// Returns the config that a Child field holds, if it has this role and `others` lack the field.
const AnyConfig* inner_config(const Slot& field, const RoleInfo* role,
                              const std::vector<Slot>& others) {
  const AnyConfig* const held = held_config(field);
  return held && role && held->type().role == role && !find_field(others, field) ? held : nullptr;
}

// Adds what went below `prefix`. A field that went anywhere is not dropped.
void move_to_carried(Carried& report, Carried more, const std::string& prefix) {
  for (std::string& field : more.carried) {
    std::erase(report.dropped, std::string(first_name(field)));
    report.carried.push_back(prefix + std::move(field));
  }
}

// Returns a copy of the config that others take the fields of this one from. Adds the fields of
// those around it to `dropped`.
AnyConfig innermost(const AnyConfig& config, std::vector<std::string>& dropped) {
  const std::string_view name = around_field(config.type());
  const std::vector<Slot> fields = children_of(config);
  const auto at = std::ranges::find(fields, name, &Slot::name);
  const AnyConfig* const held = at == fields.end() ? nullptr : held_config(*at);
  if (!held) return config;
  for (const Slot& field : fields)
    if (field.name != name) dropped.push_back(field.name);
  return innermost(*held, dropped);
}

Carried carry_from(const AnyConfig& from, const AnyConfig& to,
                   std::span<const std::string> set_fields) {
  Carried report = carry_fields(from, to, set_fields);
  if (!from.type().role) return report;
  const std::vector<Slot> new_fields = children_of(to), old_fields = children_of(from);
  for (const Slot& field : free_fields(to, set_fields)) {
    if (const AnyConfig* const inner = inner_config(field, from.type().role, old_fields))
      move_to_carried(report, carry_inside(from, *inner), field.name + ".");
  }
  for (const Slot& field : old_fields) {
    const AnyConfig* const inner = inner_config(field, to.type().role, new_fields);
    if (!inner) continue;
    std::vector<std::string> kept(set_fields.begin(), set_fields.end());
    for (const Slot& own : old_fields) kept.push_back(own.name);
    Carried found = carry_fields(*inner, to, kept);
    if (!found.carried.empty()) std::erase(report.dropped, field.name);
    move_to_carried(report, std::move(found), "");
  }
  return report;
}

}  // namespace

CarryRule::CarryRule(const std::type_info& rule_owner, std::string_view around_field,
                     void (*adapt_old)(const AnyConfig& old, const ConfigType& next))
    : owner(rule_owner), around(around_field), adapt(adapt_old) {
  rules()[owner] = this;
}

Carried carry_over(const AnyConfig& from, const AnyConfig& to,
                   std::span<const std::string> set_fields) {
  const bool takes_place =
      from.type().role && from.type().role == to.type().role && &from.type() != &to.type();
  if (!takes_place) return carry_from(from, to, set_fields);
  const CarryRule* const rule = rule_of(to.type());
  const auto adapted = [&](AnyConfig old) {
    if (rule && rule->adapt) rule->adapt(old, to.type());
    return old;
  };
  if (const std::string_view around = around_field(to.type()); !around.empty()) {
    const std::vector<Slot> free = free_fields(to, set_fields);
    if (const auto at = std::ranges::find(free, around, &Slot::name); at != free.end()) {
      put_config(*at, adapted(from));
      return {.carried = {at->name}, .dropped = {}};
    }
  }
  std::vector<std::string> dropped;
  const AnyConfig inner = innermost(from, dropped), old = adapted(inner);
  Carried report = carry_from(old, to, set_fields);
  // What the rule changed went into another field.
  const std::vector<Slot> before = children_of(inner), after = children_of(old);
  for (size_t i = 0; i < before.size(); ++i)
    if (!same_values(before[i], after[i])) std::erase(report.dropped, before[i].name);
  report.dropped.insert(report.dropped.end(), dropped.begin(), dropped.end());
  return report;
}

}  // namespace axle
