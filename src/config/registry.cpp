#include "config/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <typeindex>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

// What a name stands for: a class or functor, or else a free function.
struct Named {
  const ConfigType* type;
  AnyFunction function;
};
// What has one role or signature.
struct Interface {
  const RoleInfo* role = nullptr;  // null: a signature
  std::map<std::string, Named, std::less<>> names = {};
};
struct Registry {
  std::map<std::type_index, Interface> interfaces;
  std::vector<const ConfigType*> configs;
  // By owner, names of all its fields, name of the documented field.
  std::map<std::array<std::string_view, 3>, std::string_view> docs;
};
// Never destroyed: statics of other files may still use it while the program exits.
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

const Interface& find_interface(const std::type_info& key) {
  static const Interface none;
  const auto it = registry().interfaces.find(key);
  return it == registry().interfaces.end() ? none : it->second;
}

Named find_named(const std::type_info& key, std::string_view name) {
  const auto& names = find_interface(key).names;
  const auto it = names.find(name);
  return it == names.end() ? Named{} : it->second;
}

std::string interface_name(const std::type_info& key) {
  const RoleInfo* const role = find_interface(key).role;
  return role ? role->name : short_type_name(key);
}

void add(const std::type_info& key, std::string_view name, const Named& named) {
  if (registry().interfaces[key].names.emplace(name, named).second) return;
  throw ConfigError(fmt::format("AXLE_REGISTER: expected one {} called '{}', got two",
                                interface_name(key), name));
}

// Throws "no Norm is called 'Scael'; did you mean 'Scale'? (classes: Scale, Shift)", with at most
// 24 names.
[[noreturn]] void fail_no_name(const std::type_info& interface, std::string_view what,
                               std::string_view name, std::string_view kinds,
                               const std::string& more = {}) {
  constexpr size_t kMost = 24;
  const std::vector<std::string> names = names_of(interface);
  const std::span shown = std::span(names).first(std::min(names.size(), kMost));
  const std::string rest =
      names.size() <= kMost ? ""
                            : fmt::format(" and {} more: axle config list", names.size() - kMost);
  throw ConfigError(fmt::format("no {} is called '{}'{} ({}: {}{}{})", what, printable(name),
                                suggest(name, names), kinds, join(shown, ", "), rest, more));
}

}  // namespace

void register_config(const ConfigType& type) {
  if (const std::type_info* const interface = type.interface()) {
    const ConfigType* const before = find_number_type(*interface);
    if (type.role) registry().interfaces[*interface].role = type.role;
    add(*interface, type.name, {&type, nullptr});
    if (before && !type.number_field.empty()) {
      throw ConfigError(
          fmt::format("AXLE_REGISTER: expected one {} with kFromNumber, got {} and {}",
                      interface_name(*interface), before->name, type.name));
    }
  }
  registry().configs.push_back(&type);
}

void register_function(const std::type_info& signature, std::string_view name,
                       AnyFunction function) {
  add(signature, name, {nullptr, function});
}

std::vector<std::string> names_of(const std::type_info& interface) {
  std::vector<std::string> out;
  for (const auto& [name, named] : find_interface(interface).names) out.push_back(name);
  return out;
}

const ConfigType* find_config_type(const std::type_info& interface, std::string_view name) {
  return find_named(interface, name).type;
}

const ConfigType& find_config_type(std::string_view name) {
  const size_t dot = name.find('.');
  const std::string_view role = dot == name.npos ? std::string_view() : name.substr(0, dot);
  const std::string_view wanted = dot == name.npos ? name : name.substr(dot + 1);
  std::vector<const ConfigType*> found;
  std::vector<std::string> full_names, all;
  for (const auto& [key, interface] : registry().interfaces) {
    for (const auto& [each, named] : interface.names) {
      if (!named.type) continue;
      all.push_back(each);
      const std::string in = interface_name(*named.type->interface());
      if (each != wanted || (!role.empty() && role != in)) continue;
      found.push_back(named.type);
      full_names.push_back(in + "." + each);
    }
  }
  if (found.empty()) {
    throw ConfigError(
        fmt::format("no class is called '{}'{}", printable(name), suggest(wanted, all)));
  }
  if (found.size() > 1) {
    throw ConfigError(fmt::format(
        "'{}': expected the name of one class, got one of several; name it as one of {}", name,
        join(full_names, ", ")));
  }
  return *found[0];
}

AnyFunction find_function(const std::type_info& signature, std::string_view name) {
  return find_named(signature, name).function;
}

AnyFunction function_named(const std::type_info& signature, std::string_view name,
                           std::string_view what) {
  if (const AnyFunction found = find_function(signature, name)) return found;
  fail_no_name(signature, what, name, std::string(what) + "s");
}

const ConfigType* find_number_type(const std::type_info& interface) {
  for (const auto& [name, named] : find_interface(interface).names)
    if (named.type && !named.type->number_field.empty()) return named.type;
  return nullptr;
}

std::span<const ConfigType* const> registered_configs() { return registry().configs; }

AnyConfig make_config(const RoleInfo& role, std::string_view name) {
  const ConfigType* const type = find_config_type(*role.type, name);
  if (!type) fail_no_class(*role.type, &role, name);
  return AnyConfig::with_defaults(*type);
}

void fail_no_class(const std::type_info& interface, const RoleInfo* role, std::string_view name) {
  const ConfigType* const number = find_number_type(interface);
  fail_no_name(interface, role ? role->name : "function that fits here", name,
               role ? "classes" : "functions",
               number ? fmt::format("; a number is a {}", number->name) : "");
}

std::vector<RoleListing> list_roles() {
  std::vector<RoleListing> out;
  for (const auto& [key, interface] : registry().interfaces) {
    if (!interface.role) continue;
    out.push_back({interface.role, {}});
    for (const auto& [name, named] : interface.names) out.back().classes.push_back(named.type);
  }
  std::ranges::sort(out, {}, [](const RoleListing& one) { return one.role->name; });
  return out;
}

std::vector<SignatureListing> list_functions() {
  std::map<std::string, std::vector<std::string>> sorted;
  for (const auto& [key, interface] : registry().interfaces) {
    if (interface.role) continue;
    for (const auto& [name, named] : interface.names)
      sorted[short_type_name(key.name())].push_back(name);
  }
  std::vector<SignatureListing> out;
  for (auto& [signature, names] : sorted) {
    std::ranges::sort(names);
    out.push_back({signature, std::move(names)});
  }
  return out;
}

bool register_docs(std::span<const ConfigDoc> docs) {
  for (const ConfigDoc& doc : docs)
    registry().docs.emplace(std::array{doc.owner, doc.fields, doc.field}, doc.text);
  return true;
}

std::string_view doc_of(const ConfigType& type, std::string_view field) {
  std::string fields;
  for (const Field& f : type.fields) (fields += fields.empty() ? "" : ", ") += f.name;
  const auto found = registry().docs.find({type.name, fields, field});
  return found == registry().docs.end() ? std::string_view() : found->second;
}

std::vector<Field> detail::make_fields(std::string_view owner, std::string_view names,
                                       std::span<const void* const> places,
                                       std::span<const TypeOps* const> ops) {
  std::vector<Field> fields;
  const std::vector<std::string_view> each = split(names, ',');
  for (size_t i = 1; i < places.size(); ++i) {
    const std::string_view name = trim(each[i - 1]);
    if (std::ranges::count(fields, name, &Field::name) > 0) {
      throw ConfigError(fmt::format(
          "AXLE_CONFIG({}, ...): expected each field once, got '{}' twice; name the one that is "
          "left out instead",
          owner, name));
    }
    const auto offset = static_cast<const char*>(places[i]) - static_cast<const char*>(places[0]);
    fields.push_back({name, static_cast<size_t>(offset), ops[i]});
  }
  return fields;
}

void detail::mark_keeps_results(ConfigType& type, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto field = std::ranges::find(type.fields, name, &Field::name);
    if (field == type.fields.end()) {
      throw ConfigError(
          fmt::format("AXLE_CONFIG({}, ...): kKeepsResults: no such field '{}'", type.name, name));
    }
    field->keeps_results = true;
  }
}

}  // namespace axle
