#include "inspect/catalogue.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "config/document/print.h"
#include "config/registry.h"
#include "nn/role_methods.h"
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
    const auto lines = to_lines(ConfigView(slot), field.name);
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

RoleEntry role_entry(const RoleListing& listing) {
  RoleEntry out{.name = listing.role->name, .dims = {}, .methods = {}, .classes = {}};
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
  Catalogue out{.recipes = recipe_names(), .roles = {}, .functions = {}};
  for (const RoleListing& listing : list_roles()) out.roles.push_back(role_entry(listing));
  for (const SignatureListing& listing : list_functions())
    out.functions.push_back({listing.signature, listing.names});
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
  return out;
}

Json to_json(const Catalogue& all) {
  Json out = {{"recipes", all.recipes}, {"roles", Json::object()}, {"functions", Json::object()}};
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

}  // namespace axle
