#include "config/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <typeindex>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "config/fields.h"

namespace axle {
namespace {

// What has one role or signature.
struct Interface {
  const RoleInfo* role = nullptr;  // null: a signature
  std::map<std::string, const ConfigType*, std::less<>> types = {};
  const ConfigType* number = nullptr;  // the one with kFromNumber
};
struct Registry {
  std::map<std::type_index, Interface> interfaces;
  std::vector<const ConfigType*> configs;
  // By signature, name and function.
  std::map<std::tuple<std::type_index, std::string, AnyFunction>, ConfigType> functions;
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

const ConfigType* find_type(const std::type_info& key, std::string_view name) {
  const auto& types = find_interface(key).types;
  const auto it = types.find(name);
  return it == types.end() ? nullptr : it->second;
}

Interface& add(const std::type_info& key, const ConfigType& type) {
  Interface& interface = registry().interfaces[key];
  if (interface.types.emplace(type.name, &type).second) return interface;
  throw ConfigError(fmt::format("AXLE_REGISTER: expected one {} called '{}', got two",
                                short_type_name(key), type.name));
}

std::vector<Listing> list(bool roles) {
  std::vector<Listing> out;
  for (const auto& [key, interface] : registry().interfaces) {
    if (roles != (interface.role != nullptr)) continue;
    out.push_back({interface.role, short_type_name(key.name()), {}});
    for (const auto& [name, type] : interface.types) out.back().classes.push_back(type);
  }
  std::ranges::sort(out, {}, &Listing::name);
  return out;
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
  if (type.interface()) {
    Interface& interface = add(*type.interface(), type);
    interface.role = type.role;
    if (!type.number_field.empty()) {
      if (const ConfigType* const before = std::exchange(interface.number, &type)) {
        throw ConfigError(
            fmt::format("AXLE_REGISTER: expected one {} with kFromNumber, got {} and {}",
                        short_type_name(*type.interface()), before->name, type.name));
      }
    }
  }
  registry().configs.push_back(&type);
}

void register_function(const std::type_info& signature, std::string_view name,
                       AnyFunction function) {
  add(signature, detail::function_config(signature, std::string(name), function).type());
}

AnyConfig detail::function_config(const std::type_info& signature, std::string name,
                                  AnyFunction function) {
  // C++ code may name functions at any time, in any thread.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto [it, is_new] = registry().functions.try_emplace({signature, std::move(name), function},
                                                             NoFields::config_type());
  ConfigType& type = it->second;
  if (is_new) {
    type.name = std::get<std::string>(it->first);
    type.signature = &signature;
    type.function = function;
  }
  return AnyConfig::with_defaults(type);
}

std::vector<std::string> names_of(const std::type_info& interface) {
  std::vector<std::string> out;
  for (const auto& [name, type] : find_interface(interface).types) out.push_back(name);
  return out;
}

const ConfigType& find_config_type(const std::type_info& interface, std::string_view name) {
  if (const ConfigType* const found = find_type(interface, name)) return *found;
  const bool is_role = !is_signature(interface);
  const ConfigType* const number = find_number_type(interface);
  fail_no_name(interface, is_role ? short_type_name(interface) : "function that fits here", name,
               is_role ? "classes" : "functions",
               number ? fmt::format("; a number is a {}", number->name) : "");
}

const ConfigType& find_config_type(std::string_view name) {
  const size_t dot = name.find('.');
  const std::string_view role = dot == name.npos ? std::string_view() : name.substr(0, dot);
  const std::string_view wanted = dot == name.npos ? name : name.substr(dot + 1);
  std::vector<const ConfigType*> found;
  std::vector<std::string> full_names, all;
  for (const auto& [key, interface] : registry().interfaces) {
    for (const auto& [each, type] : interface.types) {
      if (type->function) continue;
      all.push_back(each);
      const std::string in = short_type_name(key.name());
      if (each != wanted || (!role.empty() && role != in)) continue;
      found.push_back(type);
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
  const ConfigType* const found = find_type(signature, name);
  return found ? found->function : nullptr;
}

AnyFunction function_named(const std::type_info& signature, std::string_view name,
                           std::string_view what) {
  if (const AnyFunction found = find_function(signature, name)) return found;
  fail_no_name(signature, what, name, std::string(what) + "s");
}

const ConfigType* find_number_type(const std::type_info& interface) {
  return find_interface(interface).number;
}

std::span<const ConfigType* const> registered_configs() { return registry().configs; }

std::vector<Listing> list_roles() { return list(true); }
std::vector<Listing> list_functions() { return list(false); }

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

void detail::set_former_names(ConfigType& type, std::span<const FormerName> names) {
  const auto is_field = [&](std::string_view name) {
    return std::ranges::count(type.fields, name, &Field::name) > 0;
  };
  for (const FormerName& name : names) {
    if (is_field(name.name) && !is_field(name.former)) continue;
    throw ConfigError(
        fmt::format("AXLE_CONFIG({}, ...): kFormerNames: expected a former and the present name of "
                    "a field, got "
                    "'{}' and '{}'",
                    type.name, name.former, name.name));
  }
  type.former_names = names;
}

}  // namespace axle
