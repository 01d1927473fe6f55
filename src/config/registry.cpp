#include "config/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <typeindex>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/utf8.h"

namespace axle {
namespace {

template <class V>
using ByName = std::map<std::string, V, std::less<>>;

struct Registry {
  std::map<std::type_index, const RoleInfo*> roles;
  std::map<std::type_index, ByName<const ConfigType*>> types;  // by role or signature
  std::map<std::type_index, ByName<AnyFunction>> functions;    // by signature
  std::vector<const ConfigType*> configs;
};
// Never destroyed: statics of other files may still use it while the program exits.
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

std::string group_name(const std::type_info& group) {
  const auto& roles = registry().roles;
  const auto it = roles.find(group);
  return it == roles.end() ? short_type_name(group) : it->second->name;
}

[[noreturn]] void fail_taken(const std::type_info& group, std::string_view name) {
  throw ConfigError(
      fmt::format("AXLE_REGISTER: expected one {} called '{}', got two", group_name(group), name));
}

// Returns the role or signature under which a type is found by name; null for a struct that is used
// only as the type of fields.
const std::type_info* group_of(const ConfigType& type) {
  return type.role ? type.role->type : type.signature;
}

template <class V>
const V* find(const std::map<std::type_index, ByName<V>>& table, const std::type_info& group,
              std::string_view name) {
  const auto names = table.find(group);
  if (names == table.end()) return nullptr;
  const auto it = names->second.find(name);
  return it == names->second.end() ? nullptr : &it->second;
}

}  // namespace

void register_config(const ConfigType& type) {
  const std::type_info* group = group_of(type);
  if (!group) {
    registry().configs.push_back(&type);
    return;
  }
  if (type.role) registry().roles.emplace(*group, type.role);
  const bool taken = find(registry().functions, *group, type.name) != nullptr;
  if (taken || !registry().types[*group].emplace(type.name, &type).second)
    fail_taken(*group, type.name);
  if (!type.number_field.empty() && find_number_type(*group) != &type) {
    throw ConfigError(fmt::format("AXLE_REGISTER: expected one {} with kFromNumber, got {} and {}",
                                  group_name(*group), find_number_type(*group)->name, type.name));
  }
  registry().configs.push_back(&type);
}

void register_function(const std::type_info& signature, std::string_view name,
                       AnyFunction function) {
  const bool taken = find(registry().types, signature, name) != nullptr;
  if (taken || !registry().functions[signature].emplace(name, function).second)
    fail_taken(signature, name);
}

std::vector<std::string> names_of(const std::type_info& role_or_signature) {
  ByName<int> sorted;
  if (const auto it = registry().types.find(role_or_signature); it != registry().types.end()) {
    for (const auto& [name, type] : it->second) sorted[name];
  }
  if (const auto it = registry().functions.find(role_or_signature);
      it != registry().functions.end()) {
    for (const auto& [name, function] : it->second) sorted[name];
  }
  std::vector<std::string> out;
  for (const auto& [name, unused] : sorted) out.push_back(name);
  return out;
}

const ConfigType* find_config_type(const std::type_info& role_or_signature, std::string_view name) {
  const auto* found = find(registry().types, role_or_signature, name);
  return found ? *found : nullptr;
}

const ConfigType& find_config_type(std::string_view name) {
  const size_t dot = name.find('.');
  const std::string_view group = dot == name.npos ? std::string_view() : name.substr(0, dot);
  const std::string_view wanted = dot == name.npos ? name : name.substr(dot + 1);
  std::vector<const ConfigType*> found;
  std::vector<std::string> groups, all;
  for (const auto& [key, names] : registry().types) {
    for (const auto& [n, type] : names) {
      const std::string in = group_name(*group_of(*type));
      all.push_back(n);
      if (n != wanted || (!group.empty() && group != in)) continue;
      found.push_back(type);
      groups.push_back(in + "." + n);
    }
  }
  if (found.empty()) {
    throw ConfigError(
        fmt::format("no class is called '{}'{}", printable(name), suggest(wanted, all)));
  }
  if (found.size() > 1) {
    throw ConfigError(fmt::format(
        "'{}': expected the name of one class, got one of several; name it as one of {}", name,
        join(groups, ", ")));
  }
  return *found[0];
}

AnyFunction find_function(const std::type_info& signature, std::string_view name) {
  const auto* found = find(registry().functions, signature, name);
  return found ? *found : nullptr;
}

namespace {

// Returns "a, b, c" of at most 24 names, then the number of the others.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 24;
  if (names.size() <= kMost) return join(names, ", ");
  return fmt::format("{} and {} more: axle config list",
                     fmt::join(std::span(names).first(kMost), ", "), names.size() - kMost);
}

}  // namespace

AnyFunction function_named(const std::type_info& signature, std::string_view name,
                           std::string_view what) {
  if (const AnyFunction found = find_function(signature, name)) return found;
  const std::vector<std::string> names = names_of(signature);
  throw ConfigError(fmt::format("no {} is called '{}'{} ({}s: {})", what, printable(name),
                                suggest(name, names), what, listed(names)));
}

const ConfigType* find_number_type(const std::type_info& role_or_signature) {
  const auto names = registry().types.find(role_or_signature);
  if (names == registry().types.end()) return nullptr;
  for (const auto& [name, type] : names->second) {
    if (!type->number_field.empty()) return type;
  }
  return nullptr;
}

std::span<const ConfigType* const> registered_configs() { return registry().configs; }

namespace {

std::string or_number(const std::type_info& role_or_signature) {
  const ConfigType* type = find_number_type(role_or_signature);
  return type ? fmt::format("; a number is a {}", type->name) : "";
}

}  // namespace

AnyConfig make_config(const RoleInfo& role, std::string_view name) {
  const ConfigType* type = find_config_type(*role.type, name);
  if (!type) fail_no_class(role, name);
  return AnyConfig::with_defaults(*type);
}

void fail_no_class(const RoleInfo& role, std::string_view name) {
  const std::vector<std::string> names = names_of(*role.type);
  throw ConfigError(fmt::format("no {} is called '{}'{} (classes: {}{})", role.name,
                                printable(name), suggest(name, names), listed(names),
                                or_number(*role.type)));
}

void fail_no_function(const std::type_info& signature, std::string_view name) {
  const std::vector<std::string> names = names_of(signature);
  throw ConfigError(fmt::format("no function that fits here is called '{}'{} (functions: {}{})",
                                printable(name), suggest(name, names), listed(names),
                                or_number(signature)));
}

std::vector<RoleListing> list_roles() {
  std::vector<RoleListing> out;
  for (const auto& [key, role] : registry().roles) {
    RoleListing listing{role, {}};
    for (const auto& [name, type] : registry().types[*role->type]) listing.classes.push_back(type);
    out.push_back(std::move(listing));
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.role->name < b.role->name; });
  return out;
}

std::vector<SignatureListing> list_functions() {
  std::map<std::string, std::vector<std::string>> sorted;
  for (const auto& [signature, names] : registry().types) {
    if (names.begin()->second->role) continue;
    for (const auto& [name, type] : names)
      sorted[short_type_name(signature.name())].push_back(name);
  }
  for (const auto& [signature, names] : registry().functions) {
    for (const auto& [name, function] : names)
      sorted[short_type_name(signature.name())].push_back(name);
  }
  std::vector<SignatureListing> out;
  for (auto& [signature, names] : sorted) {
    std::sort(names.begin(), names.end());
    out.push_back({signature, std::move(names)});
  }
  return out;
}

}  // namespace axle
