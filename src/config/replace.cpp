#include "config/replace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "config/carry.h"
#include "config/registry.h"
#include "config/walk.h"

namespace axle {
namespace {

bool matches(const Selector& select, const std::string& path, const AnyConfig& config) {
  const std::type_info& owner = *config.type().owner;
  const bool type = select.derived ? derives_from(owner, *select.type) : owner == *select.type;
  return type && glob_match(select.at, path) && (!select.where || select.where(path, config));
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
           ReplaceReport& report) {
  AnyConfig next = spec.with;
  if (!spec.wrap.empty()) {
    put_inner(next, spec.wrap, *held_config(slot));
  } else {
    const Carried fields = carry_over(*held_config(slot), next, spec.keep);
    for (const std::string& f : fields.carried) report.carried.push_back(join_config_path(path, f));
    for (const std::string& f : fields.dropped) report.dropped.push_back(join_config_path(path, f));
  }
  put_config(slot, std::move(next));
  report.matched.push_back(path);
}

[[noreturn]] void fail_no_match(const ConfigView& root, const Selector& select) {
  Selector anywhere = select;
  anywhere.at = "**";
  std::vector<std::string> names, paths;
  walk(root, [&](const std::string& path, const Slot& slot) {
    const AnyConfig* const held = held_config(slot);
    if (!held) return;
    names.emplace_back(held->type().name);
    if (matches(anywhere, path, *held)) paths.push_back(path);
  });
  if (!paths.empty()) {
    throw ConfigError(fmt::format(
        "replace {}: expected at least one match at '{}', got none{} (in "
        "the tree at: {})",
        short_type_name(*select.type), select.at, suggest(select.at, paths), join(paths, ", ")));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string target = short_type_name(*select.type);
  throw ConfigError(
      fmt::format("replace {}: expected at least one match at '{}', got none{} (in the tree: {})",
                  target, select.at, suggest(target, names), join(names, ", ")));
}

}  // namespace

Selector select_by_name(std::string_view name) {
  for (const RoleListing& listing : list_roles()) {
    if (listing.role->name == name) return {.type = listing.role->type, .derived = true};
  }
  return {.type = find_config_type(name).owner};
}

ReplaceReport replace_config(ConfigRef root, const ReplaceSpec& spec) {
  AXLE_CHECK(spec.with && spec.select.type,
             "a replacement needs a class to look for and one to put there");
  for (const std::string& path : spec.keep) check_field(spec.with, first_name(path));
  ReplaceReport report;
  walk(root, {}, [&](const std::string& path, const Slot& slot) {
    const AnyConfig* old = held_config(slot);
    if (!old || !matches(spec.select, path, *old)) return;
    try {
      apply(spec, path, slot, report);
    } catch (const ConfigError& e) {
      throw ConfigError(path.empty() ? e.what() : path + ": " + e.what());
    }
  });
  if (report.matched.empty() && !spec.allow_none) fail_no_match(root, spec.select);
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
