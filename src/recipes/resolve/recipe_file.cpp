#include "recipes/resolve/recipe_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "base/text/yaml.h"
#include "config/registry.h"
#include "config/serialize.h"
#include "config/set.h"
#include "io/file.h"
#include "recipes/resolve/check_recipe.h"

namespace axle {
namespace {

void append(std::string& out, std::string_view title, const std::vector<std::string>& paths) {
  if (!paths.empty()) out += fmt::format("  {}: {}\n", title, join(paths, ", "));
}

}  // namespace

std::string mesh_rule_text(const ResolveReport& report) {
  std::string out;
  if (!report.mesh_rule.empty())
    out += fmt::format("mesh rule {} for {}\n", report.mesh_rule, report.machine);
  if (!report.unmatched_rules.empty()) {
    out += fmt::format("no mesh rule matches {}; the config is unchanged (rules: {})\n",
                       report.machine, join(report.unmatched_rules, ", "));
  }
  if (!report.rule_not_reapplied.empty()) {
    out += fmt::format(
        "the mesh rules of this file were applied when it was made; the rule {} for {} is not "
        "applied again\n",
        report.rule_not_reapplied, report.machine);
  }
  if (!report.rule_set_too_late.empty()) {
    out += fmt::format(
        "a modifier changed the mesh rules after they were applied; the rule {} for {} is not "
        "applied; set mesh_rules by 'set:' or --set\n",
        report.rule_set_too_late, report.machine);
  }
  return out;
}

std::string changes_text(const ResolveReport& report) {
  std::string out;
  for (const Rewrite& rewrite : report.rewrites) {
    const RewriteReport& done = rewrite.report;
    const size_t count = done.matched.size();
    out +=
        fmt::format("{}{}: {}\n", rewrite.what, count > 1 ? fmt::format(", {} slots", count) : "",
                    count == 0 ? "nothing to change" : join(done.matched, ", "));
    append(out, "so before", done.unchanged);
    for (const auto& [path, why] : done.skipped)
      out += fmt::format("  skipped: {}: {}\n", path, why);
    append(out, "carried over", done.carried);
    append(out, "dropped", done.dropped);
  }
  return out;
}

std::string to_text(const ResolveReport& report) {
  return mesh_rule_text(report) + changes_text(report);
}

namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kSections = {"recipe", "replace", "modify", "set"};

// True if the document has a field of a trainer's config and no section. No section has the name of
// a field.
bool is_whole_config(const Json& document) {
  const auto& fields = Trainer::Config::config_type().fields;
  const auto is_field = [&](const auto& item) {
    return std::ranges::count(fields, std::string_view(item.key()), &Field::name) > 0;
  };
  const auto is_section = [](const auto& item) {
    return std::ranges::count(kSections, item.key()) > 0;
  };
  const auto items = document.items();
  return document.is_object() && std::any_of(items.begin(), items.end(), is_field) &&
         std::none_of(items.begin(), items.end(), is_section);
}

// True for what axle config show prints to be read: a line for each field, by its path.
bool is_shown_config(const Json& document) {
  const auto items = document.items();
  return document.is_object() && std::any_of(items.begin(), items.end(), [&](const auto& item) {
           const size_t dot = item.key().find('.');
           return dot != std::string::npos && document.contains(item.key().substr(0, dot));
         });
}

class SectionReader {
 public:
  SectionReader(Json document, YamlLines lines, const std::string& source)
      : source_(source), lines_(std::move(lines)), document_(std::move(document)) {}

  RecipeFile read() {
    RecipeFile out;
    out.source = source_;
    if (document_.is_null()) return out;
    if (!document_.is_object())
      fail({}, "expected the sections recipe, replace, modify, set; got something else");
    if (is_whole_config(document_)) {
      if (is_shown_config(document_)) {
        fail({},
             "expected a config file, got the text of axle config show; its --yaml prints such "
             "a file");
      }
      out.config = std::move(document_);
      return out;
    }
    size_t index = 0;
    for (const auto& [name, section] : document_.items()) {
      const Place at = {index++};
      if (!std::ranges::count(kSections, name)) fail_unknown(at, name);
      if (section.is_null()) continue;
      if (name == "recipe") out.recipe = text_of(at, section);
      if (name == "replace") out.replace = entries(at, mapping(at, section));
      if (name == "set") out.set = entries(at, mapping(at, section));
      if (name == "modify") out.modify = modifiers(at, section);
    }
    return out;
  }

 private:
  // Position of a key or element (see YamlLines).
  using Place = std::vector<size_t>;
  static Place below(Place place, size_t index) {
    place.push_back(index);
    return place;
  }

  std::string where(const Place& at) const {
    const auto line = lines_.find(at);
    return fmt::format("{}:{}", source_, line == lines_.end() ? 1 : line->second);
  }
  [[noreturn]] void fail(const Place& at, std::string_view message) const {
    throw ConfigError(fmt::format("{}: {}", where(at), message));
  }
  [[noreturn]] void fail_expected(const Place& at, std::string_view expected,
                                  const Json& got) const {
    fail(at, fmt::format("expected {}, got {}", expected, printable(got.dump())));
  }
  [[noreturn]] void fail_unknown(const Place& at, const std::string& name) const {
    fail(at, fmt::format("no such section: {}{} (sections: {})", printable(name),
                         suggest(name, kSections), join(kSections, ", ")));
  }

  std::string text_of(const Place& at, const Json& value) const {
    if (!value.is_string()) fail_expected(at, "the name of a recipe", value);
    return value.get<std::string>();
  }
  const Json& mapping(const Place& at, const Json& value) const {
    if (!value.is_object()) fail_expected(at, "a mapping", value);
    return value;
  }

  void check_size(const Place& at, const Json& values) const {
    if (values.size() <= kMaxConfigEntries) return;
    fail(at, fmt::format("expected at most {} entries, got {}; set lists and mappings as a whole",
                         kMaxConfigEntries, values.size()));
  }

  std::vector<RecipeFileEntry> entries(const Place& at, const Json& values) const {
    check_size(at, values);
    std::vector<RecipeFileEntry> out;
    for (const auto& [key, value] : values.items()) {
      const Place place = below(at, out.size());
      RecipeFileEntry entry{key, value, where(place)};
      const size_t num_elements = value.is_array() ? std::min(value.size(), kMaxConfigEntries) : 0;
      for (size_t i = 0; i < num_elements; ++i) {
        const auto line = lines_.find(below(place, i));
        entry.elements.push_back(line == lines_.end() ? entry.where : where(line->first));
      }
      out.push_back(std::move(entry));
    }
    return out;
  }

  // Parses a list of modifiers. Each is a name with or without fields:
  //   - SetMesh
  //   - SetMesh: {mesh: data=2}
  //   - {class: SetMesh, mesh: data=2}
  std::vector<RecipeFileEntry> modifiers(const Place& at, const Json& values) const {
    if (!values.is_array()) fail_expected(at, "a list of modifiers", values);
    check_size(at, values);
    std::vector<RecipeFileEntry> out;
    for (const Json& value : values) {
      const Place element = below(at, out.size());
      const std::optional<NamedModifier> modifier = named_modifier(value);
      if (!modifier)
        fail_expected(element, "one modifier, 'Name' or 'Name: {field: value}'", value);
      out.push_back({modifier->name, modifier->fields, where(element)});
    }
    return out;
  }

  std::string source_;
  YamlLines lines_;
  Json document_;
};

// Returns the location of what a line of a message is about: "mesh_rules[1].machine: ..." is about
// an element.
const std::string& place_of(const RecipeFileEntry& entry, std::string_view line) {
  for (size_t i = 0; i < entry.elements.size(); ++i) {
    if (line.starts_with(fmt::format("{}[{}]", entry.key, i))) return entry.elements[i];
  }
  return entry.where;
}

template <class F>
auto at_entry(const RecipeFileEntry& entry, F f) {
  try {
    return f();
  } catch (const ConfigError& error) {
    std::vector<std::string> lines;
    for (const std::string_view line : split(error.what(), '\n'))
      lines.push_back(with_location(place_of(entry, line), line));
    throw ConfigError(join(lines, "\n"));
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
// keep: [...], allow_none: true}, or only the class. Fields that `set` names do not take over old
// values. If `set` itself replaces a class, the report says so.
ReplaceSpec replace_spec(const std::string& target, const Json& value, ResolveReport& report) {
  static const std::vector<std::string> kKeys = {"with", "set", "at", "wrap", "keep", "allow_none"};
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
                      std::back_inserter(report.rewrites));
    spec.keep.push_back(path);
  }
  const Json keep = fields.value("keep", Json::array());
  if (!keep.is_array()) fail_expected("a list of names of fields", keep);
  for (const Json& field : keep) spec.keep.push_back(name_in(field, "names of fields"));
  if (fields.contains("at")) spec.select.at = name_in(fields["at"], "a pattern of paths");
  if (fields.contains("wrap")) spec.wrap = name_in(fields["wrap"], "the name of a slot");
  if (fields.contains("allow_none")) {
    read_document(fields["allow_none"], {{}, &spec.allow_none, &kOps<bool>},
                  fmt::format("replace.{}.allow_none", target), UnnamedValues::kKeep);
  }
  return spec;
}

void apply_replace(const RecipeFileEntry& entry, Trainer::Config& config, ResolveReport& report) {
  if (entry.value.is_array() && entry.value.empty())
    throw ConfigError(fmt::format("replace.{}: expected at least one class, got none", entry.key));
  const Json specs = entry.value.is_array() ? entry.value : Json::array({entry.value});
  for (const Json& value : specs) {
    const ReplaceSpec spec = replace_spec(entry.key, value, report);
    report.rewrites.push_back(
        {fmt::format("{} -> {}", entry.key, spec.with.type().name), replace_config(config, spec)});
  }
}

void apply_modify(const RecipeFileEntry& entry, Trainer::Config& config, ResolveReport& report) {
  std::ranges::move(apply_modifier_named(entry.key, entry.value, config),
                    std::back_inserter(report.rewrites));
}

}  // namespace

RecipeFile read_recipe_file(const std::string& path) {
  std::string text;
  try {
    text = read_stream(path, kMaxConfigBytes);
  } catch (const StorageError& error) {
    if (path_exists(path)) throw ConfigError(error.what());
    throw ConfigError(fmt::format("{}: expected a config file, got {}", path, nothing_at(path)));
  }
  return parse_recipe_file(text, path);
}

RecipeFile parse_recipe_file(std::string_view text, const std::string& source) {
  YamlLines lines;
  Json document = parse_yaml(text, source, &lines);
  return recipe_file_from(std::move(document), std::move(lines), source);
}

RecipeFile recipe_file_from(Json document, YamlLines lines, const std::string& source) {
  return SectionReader(std::move(document), std::move(lines), source).read();
}

bool sets_mesh_rules(const std::string& path) { return path.starts_with("mesh_rules"); }

void apply(const RecipeFile& file, Trainer::Config& config, ResolveReport& report,
           Mistakes& mistakes) {
  const auto each = [&](const std::vector<RecipeFileEntry>& entries, auto apply_one) {
    for (const auto& entry : entries)
      mistakes.attempt([&] { at_entry(entry, [&] { apply_one(entry, config, report); }); });
  };
  each(file.replace, apply_replace);
  each(file.modify, apply_modify);
  for (const auto& entry : file.set) {
    if (sets_mesh_rules(entry.key)) continue;
    mistakes.attempt(
        [&] { std::ranges::move(set_entry(entry, config), std::back_inserter(report.rewrites)); });
  }
}

std::vector<Rewrite> set_entry(const RecipeFileEntry& entry, Trainer::Config& config) {
  return at_entry(entry, [&] { return set_value(config, entry.key, entry.value); });
}

}  // namespace axle
