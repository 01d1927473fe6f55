#include "config/replace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "config/carry.h"
#include "config/document/print.h"
#include "config/mistakes.h"
#include "config/registry.h"
#include "config/walk.h"

namespace axle {
namespace {

// Returns true if the selector selects this config, apart from its predicate.
bool is_candidate(const Selector& select, const std::string& path, const ConfigType& type) {
  const std::type_info& owner = *type.owner;
  return (select.derived ? derives_from(owner, *select.type) : owner == *select.type) &&
         glob_match(select.at, path);
}

bool matches(const Selector& select, const std::string& path, const Slot& outer) {
  if (const AnyConfig* const held = held_config(outer)) {
    return is_candidate(select, path, held->type()) && (!select.where || select.where(path, *held));
  }
  const Slot slot = unwrap(outer);
  if (slot.ops->kind != FieldKind::kStruct) return false;
  const ConfigType& type = slot.ops->config_type();
  if (!is_candidate(select, path, type)) return false;
  if (!select.where) return true;
  const AnyConfig copy = AnyConfig::with_defaults(type);
  slot.ops->assign(copy.get(), slot.at);
  return select.where(path, copy);
}

void check_field(const AnyConfig& config, std::string_view name) {
  std::vector<std::string> names;
  for (const Field& f : config.type().fields) {
    if (f.name == name) return;
    names.emplace_back(f.name);
  }
  fail_no_slot(std::string(config.type().name), name, names, "field");
}

void put_inner(const AnyConfig& outer, const std::string& name, const AnyConfig& old) {
  for (const Slot& field : children_of(ConfigView(outer).slot())) {
    if (field.name != name) continue;
    try {
      put_config(field, old);
    } catch (const ConfigError& e) {
      throw ConfigError(fmt::format("{}.{}: {}", outer.type().name, name, e.what()));
    }
    return;
  }
  check_field(outer, name);
}

void apply(const ReplaceSpec& spec, const std::string& path, const Slot& slot,
           RewriteReport& report) {
  if (!held_config(slot)) {
    throw ConfigError(fmt::format("expected a slot for classes, got a struct that is always {}",
                                  unwrap(slot).ops->config_type().name));
  }
  AnyConfig next = spec.with;
  const AnyConfig& old = *held_config(slot);
  if (!spec.wrap.empty()) {
    put_inner(next, spec.wrap, old);
  } else {
    const Carried fields = carry_over(old, next, spec.keep);
    if (&old.type() == &next.type() && same_values(ConfigView(old).slot(), ConfigView(next).slot()))
      return report.unchanged.push_back(path);
    for (const std::string& f : fields.carried) report.carried.push_back(join_config_path(path, f));
    for (const std::string& f : fields.dropped) report.dropped.push_back(join_config_path(path, f));
  }
  put_config(slot, std::move(next));
  report.matched.push_back(path);
}

}  // namespace

Selector select_by_name(std::string_view name) {
  for (const RoleListing& listing : list_roles()) {
    if (listing.role->name == name) return {.type = listing.role->type, .derived = true};
  }
  for (const ConfigType* type : registered_configs()) {
    const bool is_struct = !type->role && !type->signature;
    if (is_struct && type->name == name) return {.type = type->owner};
  }
  return {.type = find_config_type(name).owner};
}

int64_t for_each_match(ConfigRef root, const Selector& select,
                       const std::function<void(const std::string& path, const Slot& slot)>& fn) {
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

void fail_no_match(const ConfigView& root, const Selector& select) {
  Selector anywhere = select;
  anywhere.at = "**";
  std::vector<std::string> names, paths;
  walk(root, [&](const std::string& path, const Slot& slot) {
    if (const AnyConfig* const held = held_config(slot)) names.emplace_back(held->type().name);
    if (matches(anywhere, path, slot)) paths.push_back(path);
  });
  const std::string target = short_type_name(*select.type);
  if (!paths.empty()) {
    throw NoMatch(
        fmt::format("{}: expected at least one match at '{}', got none{} (in the tree at: {})",
                    target, select.at, suggest(select.at, paths), join(paths, ", ")));
  }
  // Only the condition failed.
  Selector any = select;
  any.where = {};
  walk(root, [&](const std::string& path, const Slot& slot) {
    if (select.where && matches(any, path, slot)) paths.push_back(path);
  });
  if (!paths.empty()) {
    throw NoMatch(
        fmt::format("{}: expected at least one that has what 'where' asks for, got none (at '{}': "
                    "{})",
                    target, select.at, join(paths, ", ")));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  throw NoMatch(fmt::format("{}: expected at least one match at '{}', got none{} (in the tree: {})",
                            target, select.at, suggest(target, names), join(names, ", ")));
}

RewriteReport replace_config(ConfigRef root, const ReplaceSpec& spec) {
  AXLE_CHECK(spec.with && spec.select.type,
             "a replacement needs a class to look for and one to put there");
  for (const std::string& path : spec.keep) check_field(spec.with, first_name(path));
  RewriteReport report;
  const int64_t count = for_each_match(
      root, spec.select,
      [&](const std::string& path, const Slot& slot) { apply(spec, path, slot, report); });
  if (count == 0 && !spec.allow_none) fail_no_match(root, spec.select);
  return report;
}

std::string detail::field_at(const ConfigType& type, size_t offset) {
  for (const Field& f : type.fields) {
    if (f.offset == offset) return std::string(f.name);
  }
  AXLE_CHECK(false, "the member is no field of AXLE_CONFIG");
  return {};
}

}  // namespace axle
