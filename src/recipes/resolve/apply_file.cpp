#include "recipes/resolve/apply_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "config/document/serialize.h"
#include "config/registry.h"
#include "config/set.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

template <class F>
auto at_entry(const RecipeFileEntry& entry, F f) {
  try {
    return f();
  } catch (const ConfigError& error) {
    throw ConfigError(with_location(entry.where, error.what()));
  }
}

[[noreturn]] void fail_expected(std::string_view what, const Json& value) {
  throw ConfigError(fmt::format("expected {}, got {}", what, printable(value.dump())));
}

std::string name_in(const Json& value, std::string_view what) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) fail_expected(what, value);
  return value.get<std::string>();
}

// Parses the entry of a class in `replace`: either {with: Class, set: {...}, at: glob, wrap: slot,
// keep: [...]}, or only the class. Fields that `set` names do not take over old values. If `set`
// itself replaces a class, the report says so.
ReplaceSpec replace_spec(const std::string& target, const Json& value, ResolveReport& report) {
  static const std::vector<std::string> kKeys = {"with", "set", "at", "wrap", "keep"};
  const Json fields = value.is_object() ? value : Json{{"with", value}};
  for (const auto& [key, unused] : fields.items()) {
    if (!std::ranges::count(kKeys, key)) {
      throw ConfigError(fmt::format("replace.{}: no such key: {}{} (keys: {})", target, key,
                                    suggest(key, kKeys), join(kKeys, ", ")));
    }
  }
  if (!fields.contains("with"))
    throw ConfigError(fmt::format("replace.{}: expected 'with: Class', got none", target));
  if (fields["with"].is_object()) {
    throw ConfigError(fmt::format(
        "replace.{}.with: expected the name of a class, got {}; put the fields under set:", target,
        printable(fields["with"].dump())));
  }
  ReplaceSpec spec{.select = select_by_name(target),
                   .with = AnyConfig::with_defaults(
                       find_config_type(name_in(fields["with"], "the name of a class")))};
  const Json set_fields = fields.value("set", Json::object());
  if (!set_fields.is_object()) fail_expected("a mapping of fields", set_fields);
  for (const auto& [path, field] : set_fields.items()) {
    std::ranges::move(set_value(spec.with, path, field, spec.with.type().name),
                      std::back_inserter(report.replaced));
    spec.keep.push_back(path);
  }
  const Json keep = fields.value("keep", Json::array());
  if (!keep.is_array()) fail_expected("a list of names of fields", keep);
  for (const Json& field : keep) spec.keep.push_back(name_in(field, "names of fields"));
  if (fields.contains("at")) spec.select.at = name_in(fields["at"], "a pattern of paths");
  if (fields.contains("wrap")) spec.wrap = name_in(fields["wrap"], "the name of a slot");
  return spec;
}

void apply_replace(const RecipeFileEntry& entry, Trainer::Config& config, ResolveReport& report) {
  const Json specs = entry.value.is_array() ? entry.value : Json::array({entry.value});
  for (const Json& value : specs) {
    const ReplaceSpec spec = replace_spec(entry.key, value, report);
    report.replaced.push_back(
        {fmt::format("{} -> {}", entry.key, spec.with.type().name), replace_config(config, spec)});
  }
}

AnyConfig modifier_named(const std::string& name) {
  for (const std::string& known : names_of(typeid(Modifier))) {
    if (lower_case(known) == lower_case(name)) return make_config(role_info<Modifier>(), known);
  }
  return make_config(role_info<Modifier>(), name);
}

void apply_modify(const RecipeFileEntry& entry, Trainer::Config& config, ResolveReport& report) {
  Child<Modifier> modifier;
  modifier.put(modifier_named(entry.key));
  if (!entry.value.is_null()) from_json(modifier.any(), entry.value, modifier.any().type().name);
  std::ranges::move(apply_modifier(modifier, "modify", config),
                    std::back_inserter(report.replaced));
  report.modified.emplace_back(modifier.any().type().name);
}

}  // namespace

bool sets_mesh_rules(const std::string& path) { return path.starts_with("mesh_rules"); }

void apply_file(const RecipeFile& file, Trainer::Config& config, ResolveReport& report,
                Mistakes& mistakes) {
  const auto each = [&](const std::vector<RecipeFileEntry>& entries, auto apply) {
    for (const auto& entry : entries)
      mistakes.attempt([&] { at_entry(entry, [&] { apply(entry, config, report); }); });
  };
  each(file.replace, apply_replace);
  each(file.modify, apply_modify);
  for (const auto& entry : file.set) {
    if (sets_mesh_rules(entry.key)) continue;
    mistakes.attempt(
        [&] { std::ranges::move(set_entry(entry, config), std::back_inserter(report.replaced)); });
  }
}

std::vector<Replaced> set_entry(const RecipeFileEntry& entry, Trainer::Config& config) {
  return at_entry(entry, [&] { return set_value(config, entry.key, entry.value); });
}

}  // namespace axle
