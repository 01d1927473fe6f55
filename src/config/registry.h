// Names of classes, functors and functions that configs may use: filled by AXLE_REGISTER before
// main, read after.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "config/fields/any_config.h"

namespace axle {

/// Enters a class under its role or a functor under its signature; other structs have no name to be
/// found by. Throws ConfigError if the name is taken there.
void register_config(const ConfigType& type);
/// Throws ConfigError if the name is taken under this signature.
void register_function(const std::type_info& signature, std::string_view name,
                       AnyFunction function);

/// Classes of a role, or functions and functors of a signature, sorted by name.
std::vector<std::string> names_of(const std::type_info& role_or_signature);
/// The class of a role or functor of a signature, or null.
const ConfigType* find_config_type(const std::type_info& role_or_signature, std::string_view name);
/// The class or functor of that name over all roles and signatures; "Role.Class" names it where
/// several have the name. Throws ConfigError: unknown (did you mean), ambiguous.
const ConfigType& find_config_type(std::string_view name);
/// The free function, or null.
AnyFunction find_function(const std::type_info& signature, std::string_view name);
/// Throws ConfigError with the nearest name if there is none. For a recipe:
/// function_named<Trainer::Config()>(name).
AnyFunction function_named(const std::type_info& signature, std::string_view name,
                           std::string_view what);
template <class Sig>
Sig* function_named(std::string_view name, std::string_view what) {
  return reinterpret_cast<Sig*>(function_named(typeid(Sig), name, what));
}

/// The class of a role, or functor of a signature, that a number in place of its name makes: the
/// one that declares kFromNumber; null where none does.
const ConfigType* find_number_type(const std::type_info& role_or_signature);
/// Every config struct, those that have no name to be found by included, in the order of
/// registration.
std::span<const ConfigType* const> registered_configs();

/// The default config of a class. Throws ConfigError: "no Norm is called 'LayrNorm'; did you mean
/// 'LayerNorm'? (...)".
AnyConfig make_config(const RoleInfo& role, std::string_view name);
/// The error of make_config's message.
[[noreturn]] void fail_no_class(const RoleInfo& role, std::string_view name);
[[noreturn]] void fail_no_function(const std::type_info& signature, std::string_view name);

/// One role with its classes, sorted by name.
struct RoleListing {
  const RoleInfo* role;
  std::vector<const ConfigType*> classes;
};
std::vector<RoleListing> list_roles();
/// One signature ("double (long)") with its functions and functors, sorted by name.
struct SignatureListing {
  std::string signature;
  std::vector<std::string> names;
};
std::vector<SignatureListing> list_functions();

}  // namespace axle
