#include "config/replace.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/mistakes.h"
#include "base/text/text.h"
#include "config/print.h"

namespace axle {
namespace {

// Returns a pattern of paths with the names that fields have now in place of former ones.
std::string with_present_names(std::string_view pattern) {
  std::string out;
  for (const std::string_view part : split(pattern, '.')) {
    const std::string_view name = part.substr(0, part.find('['));
    std::string_view present = name;
    for (const ConfigType* const type : registered_configs())
      if (present == name) present = type->present_name(name);
    out.append(present).append(part.substr(name.size())).append(".");
  }
  out.pop_back();
  return out;
}

bool matches(const Selector& select, const std::string& path, const Slot& slot) {
  const ConfigType* const type = type_below(slot);
  if (!type) return false;
  const std::type_info& owner = *type->owner;
  if (!(select.derived ? derives_from(owner, *select.type) : owner == *select.type) ||
      !(glob_match(select.at, path) || glob_match(with_present_names(select.at), path)))
    return false;
  if (!select.where) return true;
  if (const AnyConfig* const held = held_config(slot)) return select.where(path, *held);
  const AnyConfig copy = AnyConfig::with_defaults(*type);
  type->ops->assign(copy.get(), unwrap(slot).at);
  return select.where(path, copy);
}

Slot field_of(const AnyConfig& config, std::string_view name) {
  return child_of(config, name, std::string(config.type().name));
}

void apply(const ReplaceSpec& spec, const std::string& path, const Slot& slot,
           RewriteReport& report) {
  if (!held_config(slot)) {
    throw ConfigError(fmt::format("expected a slot for classes, got a struct that is always {}",
                                  type_below(slot)->name));
  }
  AnyConfig next = spec.with;
  const AnyConfig& old = *held_config(slot);
  if (!spec.wrap.empty()) {
    const Slot inner = field_of(next, spec.wrap);
    try {
      put_config(inner, old);
    } catch (const ConfigError& e) {
      throw ConfigError(fmt::format("{}.{}: {}", next.type().name, spec.wrap, e.what()));
    }
  } else {
    const Carried fields = carry_over(old, next, spec.keep);
    if (&old.type() == &next.type() && same_values(old, next))
      return report.unchanged.push_back(path);
    report.add(path, fields);
  }
  put_config(slot, std::move(next));
  report.matched.push_back(path);
}

}  // namespace

Selector select_by_name(std::string_view name) {
  for (const Listing& listing : list_roles())
    if (listing.name == name) return {.type = listing.role->type, .derived = true};
  for (const ConfigType* type : registered_configs())
    if (!type->interface() && type->name == name) return {.type = type->owner};
  return {.type = find_config_type(name).owner};
}

int64_t for_each_match(ConfigRef root, const Selector& select, const Visit& fn) {
  AXLE_CHECK(select.type, "a selector needs a class to look for");
  int64_t count = 0;
  walk(root, {}, [&](const std::string& path, const Slot& slot) {
    if (!matches(select, path, slot)) return;
    ++count;
    try {
      fn(path, slot);
    } catch (const ConfigError& e) {
      const std::string what = e.what();
      throw ConfigError(what.starts_with(path) ? what : with_location(path, what));
    }
  });
  return count;
}

void fail_no_match(const Slot& root, const Selector& select) {
  Selector anywhere = select, any = select;
  anywhere.at = "**";
  any.where = {};  // where only the condition fails
  std::set<std::string> names;
  std::vector<std::string> elsewhere, otherwise;
  walk(root, [&](const std::string& path, const Slot& slot) {
    if (const AnyConfig* const held = held_config(slot)) names.emplace(held->type().name);
    if (matches(anywhere, path, slot)) elsewhere.push_back(path);
    if (select.where && matches(any, path, slot)) otherwise.push_back(path);
  });
  const std::string target = short_type_name(*select.type);
  if (elsewhere.empty() && !otherwise.empty()) {
    throw NoMatch(
        fmt::format("{}: expected at least one that has what 'where' asks for, got none (at '{}': "
                    "{})",
                    target, select.at, join(otherwise, ", ")));
  }
  const std::vector<std::string> sorted(names.begin(), names.end());
  throw NoMatch(fmt::format(
      "{}: expected at least one match at '{}', got none{} (in the tree{}: {})", target, select.at,
      elsewhere.empty() ? suggest(target, sorted) : suggest(select.at, elsewhere),
      elsewhere.empty() ? "" : " at", join(elsewhere.empty() ? sorted : elsewhere, ", ")));
}

void RewriteReport::add(const std::string& path, const Carried& fields) {
  for (const std::string& f : fields.carried) carried.push_back(join_config_path(path, f));
  for (const std::string& f : fields.dropped) dropped.push_back(join_config_path(path, f));
}

RewriteReport replace_config(ConfigRef root, const ReplaceSpec& spec) {
  AXLE_CHECK(spec.with && spec.select.type,
             "a replacement needs a class to look for and one to put there");
  for (const std::string& path : spec.keep) field_of(spec.with, first_name(path));
  RewriteReport report;
  const int64_t count = for_each_match(
      root, spec.select,
      [&](const std::string& path, const Slot& slot) { apply(spec, path, slot, report); });
  if (count == 0 && !spec.allow_none) fail_no_match(root, spec.select);
  return report;
}

std::string detail::field_at(const ConfigType& type, size_t offset) {
  const auto field = std::ranges::find(type.fields, offset, &Field::offset);
  AXLE_CHECK(field != type.fields.end(), "the member is no field of AXLE_CONFIG");
  return std::string(field->name);
}

}  // namespace axle
