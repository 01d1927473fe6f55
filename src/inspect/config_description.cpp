#include "inspect/config_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "config/print.h"
#include "config/registry.h"
#include "config/walk.h"
#include "nn/layer_role.h"
#include "recipes/recipe.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

ClassListing class_listing(const ConfigType& type) {
  ClassListing out{std::string(type.name), std::string(type.doc), {}};
  const AnyConfig defaults = AnyConfig::with_defaults(type);
  for (const Field& field : type.fields) {
    const Slot slot{std::string(field.name), static_cast<char*>(defaults.get()) + field.offset,
                    field.ops};
    const auto lines = to_lines(slot, field.name);
    // For a struct, list or map, the first line belongs to its first element.
    const bool is_one = !lines.empty() && lines[0].path == field.name;
    out.fields.push_back(
        {slot.name, is_one ? lines[0].text : fmt::format("{} values", lines.size())});
  }
  return out;
}

MethodListing method_listing(const MethodNames& method) {
  return {std::string(method.name), {method.inputs.begin(), method.inputs.end()}};
}

std::vector<std::string> type_names(const Listing& listing) {
  std::vector<std::string> out;
  for (const ConfigType* type : listing.classes) out.emplace_back(type->name);
  return out;
}

RoleEntry role_entry(const Listing& listing) {
  RoleEntry out{.name = listing.name, .dims = {}, .methods = {}, .classes = {}};
  if (listing.role->dims) {
    for (const Field& field : listing.role->dims().fields) out.dims.emplace_back(field.name);
  }
  if (!listing.role->inputs.empty())
    out.methods.push_back(method_listing({"forward", listing.role->inputs}));
  for (const MethodNames& method : role_methods(*listing.role->type))
    out.methods.push_back(method_listing(method));
  for (const ConfigType* type : listing.classes) out.classes.push_back(class_listing(*type));
  return out;
}

}  // namespace

Catalogue catalogue() {
  Catalogue out{.recipes = product_recipe_names(),
                .test_recipes = test_recipe_names(),
                .roles = {},
                .functions = {}};
  for (const Listing& listing : list_roles()) out.roles.push_back(role_entry(listing));
  for (const Listing& listing : list_functions())
    out.functions.push_back({listing.name, type_names(listing)});
  return out;
}

std::string to_text(const Catalogue& all) {
  std::string out = "Recipes\n";
  for (const std::string& name : all.recipes) out += fmt::format("  {}\n", name);
  for (const RoleEntry& role : all.roles) {
    out += fmt::format("\n{}\n", role.name);
    for (const MethodListing& method : role.methods) {
      out += fmt::format("  {}({})\n", method.name, join(method.inputs, ", "));
    }
    for (const ClassListing& one : role.classes) {
      std::vector<std::string> fields;
      for (const FieldListing& field : one.fields)
        fields.push_back(field.name + " = " + field.value);
      out += fmt::format("  {} {{{}}}{}\n", one.name, join(fields, ", "),
                         one.doc.empty() ? "" : "  " + one.doc);
    }
  }
  out += "\nFunctions\n";
  for (const FunctionEntry& entry : all.functions)
    out += fmt::format("  {}: {}\n", entry.signature, join(entry.names, ", "));
  out += "\nRecipes for tests of everything else, the same families at a tiny size\n";
  for (const std::string& name : all.test_recipes) out += fmt::format("  {}\n", name);
  return out;
}

Json to_json(const Catalogue& all) {
  Json out = {{"recipes", all.recipes},
              {"test_recipes", all.test_recipes},
              {"roles", Json::object()},
              {"functions", Json::object()}};
  for (const RoleEntry& role : all.roles) {
    Json& entry = out["roles"][role.name];
    entry["dims"] = role.dims;
    entry["methods"] = Json::object();
    for (const MethodListing& method : role.methods)
      entry["methods"][method.name] = {{"inputs", method.inputs}};
    entry["classes"] = Json::object();
    for (const ClassListing& one : role.classes) {
      Json fields = Json::object();
      for (const FieldListing& field : one.fields) fields[field.name] = field.value;
      entry["classes"][one.name] = {{"doc", one.doc}, {"fields", std::move(fields)}};
    }
  }
  for (const FunctionEntry& entry : all.functions) out["functions"][entry.signature] = entry.names;
  return out;
}

namespace {

// Returns the name after "a" or "an".
std::string with_article(std::string_view name) {
  const bool is_vowel = !name.empty() && std::string_view("AEIOaeio").find(name[0]) != name.npos;
  return fmt::format("{} {}", is_vowel ? "an" : "a", name);
}

std::string in_place_of_number(const std::type_info& role_or_signature) {
  const ConfigType* type = find_number_type(role_or_signature);
  return type ? fmt::format("; a number is {}", with_article(type->name)) : "";
}

// Describes what a leaf accepts: its range, or what its parser says that it expects, or its type's
// name.
std::string text_of_leaf(const TypeOps& ops, const void* like) {
  if (ops.bounds) return range_text(*ops.bounds, ops.is_integer());
  if (ops.leaf == LeafKind::kBool) return "true or false";
  if (ops.leaf == LeafKind::kString) return "a string";
  try {
    // No type accepts this text. Since parsing fails, the value does not change.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    ops.read(const_cast<void*>(like), "\x01");
  } catch (const Error& error) {
    const std::string_view message = error.what();
    constexpr std::string_view kExpected = "expected ";
    const size_t end = message.find(", got");
    if (message.starts_with(kExpected) && end != message.npos)
      return std::string(message.substr(kExpected.size(), end - kExpected.size()));
  }
  return with_article(short_type_name(*ops.type));
}

std::string names_for(const TypeOps& ops) {
  return join(names_of(*ops.interface), ", ") + in_place_of_number(*ops.interface);
}

std::string takes(const TypeOps& ops, void* at) {
  // Describes the element. If there is none, creates one for this and clears it again.
  const auto element = [&] {
    void* inside = ops.value ? ops.value(at) : nullptr;
    const bool was_empty = ops.value && !inside;
    if (was_empty) inside = ops.emplace(at);
    std::string out = takes(*ops.element, inside);
    if (was_empty) ops.clear(at);
    return out;
  };
  switch (ops.kind) {
    case FieldKind::kLeaf:
      return text_of_leaf(ops, at);
    case FieldKind::kStruct:
      return with_article(ops.config_type().name) +
             (ops.config_type().number_field.empty() ? "" : "; a number is one");
    case FieldKind::kChild:
      return fmt::format("{}: {}", with_article(ops.role().name), names_for(ops));
    case FieldKind::kFn:
      return fmt::format("a function: {}", names_for(ops));
    case FieldKind::kOptional:
      return "none or " + element();
    case FieldKind::kRequired:
      return element();
    case FieldKind::kList:
    case FieldKind::kMap:
      break;
  }
  const std::string_view what = ops.kind == FieldKind::kList ? "a list, each " : "a map, each ";
  const std::vector<Slot> elements = ops.elements(at);
  void* const first = elements.empty() ? ops.insert(at, "key") : elements[0].at;
  std::string out = std::string(what) + takes(*ops.element, first);
  if (elements.empty()) ops.clear(at);
  return out;
}

std::string value_of(const Slot& slot) {
  const auto lines = to_lines(slot, slot.name);
  // For a struct, list or map, the first line belongs to its first element.
  if (!lines.empty() && lines[0].path == slot.name) return lines[0].text;
  const Slot inside = unwrap(slot);
  if (!inside.ops->elements) return fmt::format("{} values", lines.size());
  const size_t count = inside.ops->elements(inside.at).size();
  return fmt::format("{} {}", count, count == 1 ? "entry" : "entries");
}

std::optional<Bounds> bounds_of(const TypeOps& ops) {
  if (ops.bounds) return *ops.bounds;
  return ops.element ? bounds_of(*ops.element) : std::nullopt;
}

FieldDescription field_of(const Slot& slot, std::string_view doc) {
  return {.name = slot.name,
          .value = value_of(slot),
          .takes = takes(*slot.ops, slot.at),
          .bounds = bounds_of(*slot.ops),
          .doc = std::string(doc)};
}

void add_fields(const Slot& slot, ConfigDescription& out) {
  const ConfigType* type = type_below(slot);
  for (const Slot& field : children_of(slot)) {
    const bool is_option = field.name.starts_with('@');
    const ConfigType* owner = is_option ? &unwrap(slot).ops->options_type() : type;
    const std::string_view name = std::string_view(field.name).substr(is_option ? 1 : 0);
    out.fields.push_back(field_of(field, owner ? doc_of(*owner, name) : ""));
  }
}

// Returns the comment above a class for people who write no C++: "Error if ..." instead of "Throws
// ConfigError at construction if ...".
std::string doc_text(const ConfigType& type) {
  std::string out(type.doc.empty() ? doc_of(type) : type.doc);
  constexpr std::string_view kThrows = "Throws ", kError = "Error";
  for (size_t at = 0; (at = out.find(kThrows, at)) != out.npos; ++at) {
    size_t end = out.find(kError, at);
    if (end == out.npos || out.find(' ', at + kThrows.size()) < end) continue;
    end += kError.size();
    for (const std::string_view more : {" with kDoesNotFit", " at construction"})
      if (out.compare(end, more.size(), more) == 0) end += more.size();
    out.replace(at, end - at, kError);
  }
  return out;
}

ConfigDescription of_type(const ConfigType& type) {
  ConfigDescription out{.name = std::string(type.name), .kind = "struct"};
  if (type.role)
    out.kind = type.role->name;
  else if (type.signature)
    out.kind = "function " + short_type_name(*type.signature);
  out.doc = doc_text(type);
  AnyConfig defaults = AnyConfig::with_defaults(type);
  add_fields(defaults, out);
  return out;
}

ConfigDescription of_role(const Listing& listing) {
  ConfigDescription out{.name = listing.name, .kind = "role"};
  for (const ConfigType* type : listing.classes) {
    out.classes.push_back(
        {.name = std::string(type->name), .value = "", .takes = "", .doc = doc_text(*type)});
  }
  return out;
}

ConfigDescription of_path(std::string_view recipe_name, std::string_view path) {
  Trainer::Config config = recipe(recipe_name);
  const Slot slot = find_slot(config, path);
  const size_t dot = path.rfind('.');
  const std::string_view parent_path = dot == path.npos ? "" : path.substr(0, dot);
  const Slot parent = find_slot(config, parent_path);
  const bool is_option = slot.name.starts_with('@');
  const ConfigType* owner = is_option ? &unwrap(parent).ops->options_type() : type_below(parent);
  const std::string_view name = std::string_view(slot.name).substr(is_option ? 1 : 0);
  const FieldDescription field = field_of(slot, owner ? doc_of(*owner, name) : "");
  ConfigDescription out{
      .name = fmt::format("{} = {}", path, field.value), .kind = field.takes, .doc = field.doc};
  add_fields(slot, out);
  return out;
}

}  // namespace

ConfigDescription describe_config(std::string_view name, std::string_view path) {
  const std::vector<std::string> recipes = recipe_names();
  const bool is_recipe = std::ranges::count(recipes, name) > 0;
  if (!path.empty() && is_recipe) return of_path(name, path);
  if (!path.empty()) {
    for (const ConfigType* type : registered_configs()) {
      if (type->name == name)
        throw ConfigError(
            fmt::format("NAME: expected a recipe before the path, got the class {}", name));
    }
    recipe(name);  // throws: not a recipe
  }
  if (is_recipe) {
    ConfigDescription out{.name = std::string(name), .kind = "recipe"};
    Trainer::Config config = recipe(name);
    add_fields(config, out);
    return out;
  }
  std::vector<std::string> known = recipes;
  for (const Listing& listing : list_roles()) {
    const bool is_class = listing.classes.size() == 1 && listing.classes[0]->name == name;
    if (listing.name == name && !is_class) return of_role(listing);
    known.push_back(listing.name);
  }
  for (const Listing& listing : list_functions()) {
    const std::vector<std::string> names = type_names(listing);
    known.insert(known.end(), names.begin(), names.end());
    const bool is_functor = std::ranges::any_of(
        registered_configs(), [&](const ConfigType* type) { return type->name == name; });
    if (!is_functor && std::ranges::count(names, name) > 0)
      return {.name = std::string(name), .kind = "function " + listing.name};
  }
  for (const ConfigType* type : registered_configs()) {
    known.emplace_back(type->name);
    const bool has_name = type->role || type->signature;
    if (!has_name && type->name == name) return of_type(*type);
  }
  try {
    return of_type(find_config_type(name));
  } catch (const ConfigError&) {
    // Several classes have the name, or none has it.
    if (std::ranges::count(known, name) > 1) throw;
    std::ranges::sort(known);
    known.erase(std::unique(known.begin(), known.end()), known.end());
    throw ConfigError(fmt::format(
        "{}: expected a recipe, class, role or function, got none of that name{}; see axle config "
        "list",
        name, suggest(name, known)));
  }
}

std::string to_text(const ConfigDescription& all) {
  std::string out = fmt::format("{} ({})\n", all.name, all.kind);
  if (!all.doc.empty()) out += fmt::format("  {}\n", all.doc);
  for (const FieldDescription& field : all.fields) {
    out += fmt::format("\n  {}: {}\n", field.name, field.value);
    if (!field.doc.empty()) out += fmt::format("      {}\n", field.doc);
    out += fmt::format("      Takes {}.\n", field.takes);
  }
  for (const FieldDescription& one : all.classes)
    out += fmt::format("\n  {}\n      {}\n", one.name, one.doc);
  return out;
}

Json to_json(const ConfigDescription& all) {
  Json fields = Json::object(), classes = Json::object();
  for (const FieldDescription& field : all.fields) {
    Json& entry = fields[field.name];
    entry = {{"value", field.value}, {"takes", field.takes}};
    if (field.bounds && field.bounds->has_min()) {
      entry["min"] = field.bounds->min;
      entry["open_min"] = field.bounds->open_min;
    }
    if (field.bounds && field.bounds->has_max()) {
      entry["max"] = field.bounds->max;
      entry["open_max"] = field.bounds->open_max;
    }
    entry["doc"] = field.doc;
  }
  for (const FieldDescription& one : all.classes) classes[one.name] = {{"doc", one.doc}};
  return {{"name", all.name},
          {"kind", all.kind},
          {"doc", all.doc},
          {"fields", std::move(fields)},
          {"classes", std::move(classes)}};
}

}  // namespace axle
