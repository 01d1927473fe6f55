#include "modifiers/field_modifiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/mistakes.h"
#include "base/text/text.h"
#include "config/carry.h"
#include "config/print.h"
#include "config/register.h"
#include "config/registry.h"
#include "config/set.h"
#include "config/walk.h"
#include "modifiers/attention/set_attention.h"

namespace axle {

RewriteReport set_field(ConfigRef root, const Selector& select, std::string_view name,
                        const void* value, const std::type_info& type) {
  RewriteReport report;
  const int64_t count =
      for_each_match(root, select, [&](const std::string& path, const Slot& slot) {
        const std::string full = join_config_path(path, name);
        const Slot field = find_slot(slot, name, path);
        if (*field.ops->type != type) {
          throw ConfigError(fmt::format("{}: expected a field of type {}, got another one", full,
                                        short_type_name(type)));
        }
        // It is only compared. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
        const bool is_set = same_values(field, {field.name, const_cast<void*>(value), field.ops});
        (is_set ? report.unchanged : report.matched).push_back(full);
        field.ops->assign(field.at, value);
      });
  if (count == 0) fail_no_match(root, select);
  return report;
}

SetFields::SetFields(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {
  if (cfg_.set.empty()) {
    throw ConfigError(
        "SetFields.set: expected at least one field, got none; name it with its value");
  }
}

std::vector<Rewrite> SetFields::apply(ConfigRef root) const {
  SetTexts done = set_texts(root, cfg_.set);
  std::vector<Rewrite> out = {{"SetFields", std::move(done.fields)}};
  std::ranges::move(done.classes, std::back_inserter(out));
  return out;
}

AXLE_REGISTER(SetFields)

namespace {

// Returns the text of the subtree at a path; none if there is no such field or element.
std::optional<std::string> text_at(const Slot& root, std::string_view path) {
  try {
    return to_string(find_slot(root, path));
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

// Calls fn(), whose mistakes count as mistakes of a modifier's field.
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

SetWhere::SetWhere(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {
  if (cfg_.set.empty())
    throw ConfigError(
        "SetWhere.set: expected at least one field, got none; name it with its value");
}

std::vector<Rewrite> SetWhere::apply(ConfigRef root) const {
  return set_where(root, select_texts(cfg_.select, cfg_.at, cfg_.where, "SetWhere", "select"),
                   cfg_.set, fmt::format("SetWhere {}", cfg_.select));
}

std::vector<Rewrite> set_where(ConfigRef root, const Selector& select, const FieldTexts& fields,
                               std::string_view what) {
  std::vector<Rewrite> out = {{std::string(what), {}}};
  Mistakes mistakes;
  const int64_t count =
      for_each_match(root, select, [&](const std::string& path, const Slot& slot) {
        mistakes.attempt([&] {
          SetTexts done = set_texts(ConfigRef(slot), fields, path);
          RewriteReport& report = out.front().report;
          (done.fields.matched.empty() ? report.unchanged : report.matched).push_back(path);
          std::ranges::move(done.classes, std::back_inserter(out));
        });
      });
  mistakes.throw_any();
  if (count == 0) fail_no_match(root, select);
  return out;
}

AXLE_REGISTER(SetWhere)

std::vector<Rewrite> ReplaceClass::apply(ConfigRef root) const {
  const ConfigType& type = class_named(cfg_.with, "ReplaceClass", "with");
  ReplaceSpec spec{
      .select = select_texts(cfg_.replace, cfg_.at, cfg_.where, "ReplaceClass", "replace"),
      .with = AnyConfig::with_defaults(type)};
  std::vector<Rewrite> out = set_texts(spec.with, cfg_.set, type.name).classes;
  for (const auto& [path, text] : cfg_.set) spec.keep.push_back(path);
  out.push_back({fmt::format("{} -> {}", cfg_.replace, type.name), replace_config(root, spec)});
  return out;
}

AXLE_REGISTER(ReplaceClass)

namespace {

// Returns the paths of all slots that hold a config of this type.
std::set<std::string> paths_of(ConfigRef root, const ConfigType& type) {
  std::set<std::string> out;
  walk(root, [&](const std::string& path, const Slot& slot) {
    const AnyConfig* held = held_config(slot);
    if (held && *held && &held->type() == &type) out.insert(path);
  });
  return out;
}

}  // namespace

std::vector<Rewrite> WrapClass::apply(ConfigRef root) const {
  const ConfigType& around = class_named(cfg_.with, "WrapClass", "with");
  const std::set<std::string> wrappers = paths_of(root, around);
  const std::string inside = "." + cfg_.slot;
  RewriteReport before;  // what holds a config of the wanted class in its slot already
  const Selector wanted = select_texts(cfg_.wrap, "**", cfg_.where, "WrapClass", "wrap");
  for_each_match(root, wanted, [&](const std::string& path, const Slot&) {
    if (!path.ends_with(inside)) return;
    std::string outer = path.substr(0, path.size() - inside.size());
    if (wrappers.contains(outer) && glob_match(cfg_.at, outer))
      before.unchanged.push_back(std::move(outer));
  });
  ReplaceSpec spec{.select = wanted,
                   .with = AnyConfig::with_defaults(around),
                   .wrap = cfg_.slot,
                   .allow_none = true};
  spec.select.at = cfg_.at;
  spec.select.where = [&](const std::string& path, const AnyConfig& config) {
    const bool is_inside =
        path.ends_with(inside) && wrappers.contains(path.substr(0, path.size() - inside.size()));
    return !is_inside && !wrappers.contains(path) && (!wanted.where || wanted.where(path, config));
  };
  RewriteReport report = replace_config(root, spec);
  report.unchanged = std::move(before.unchanged);
  if (report.matched.empty() && report.unchanged.empty()) {
    Selector missing = wanted;
    missing.at = cfg_.at;
    fail_no_match(root, missing);
  }
  return {{fmt::format("{} inside {}", cfg_.wrap, around.name), std::move(report)}};
}

AXLE_REGISTER(WrapClass)

std::vector<Rewrite> CollectStats::apply(ConfigRef root) const {
  std::vector<Rewrite> out = {{fmt::format("CollectStats at {}", cfg_.at),
                               set_option(root, "@stats", &cfg_.stats, cfg_.at, "CollectStats")}};
  constexpr std::string_view kSummaries = "layer_summaries";
  for (const Slot& field : children_of(root)) {
    if (field.name != kSummaries || cfg_.stats.empty()) continue;
    RewriteReport& report = out[0].report;
    (*static_cast<bool*>(field.at) ? report.unchanged : report.matched).emplace_back(kSummaries);
    set(root, kSummaries, "true");
  }
  return out;
}

AXLE_REGISTER(CollectStats)

}  // namespace axle
