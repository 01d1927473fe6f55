// The names of classes, functors and functions that configs may use, and their documentation.
// AXLE_REGISTER fills the registry before main; it is only read afterwards. Names are found by what
// a field asks for, its `interface`: the role of classes, or the signature of functions.
#pragma once

#include "config/config_type.h"

namespace axle {

/// Registers a class under its role or a functor under its signature. Other structs are registered
/// too, but cannot be found by name. Throws ConfigError if the role or signature already has the
/// name.
void register_config(const ConfigType& type);
/// Throws ConfigError if the signature already has a function or functor of this name.
void register_function(const std::type_info& signature, std::string_view name,
                       AnyFunction function);

/// Returns the names of the classes of a role, or of the functions and functors of a signature,
/// sorted.
std::vector<std::string> names_of(const std::type_info& interface);
/// Returns the class of a role, or the functor of a signature; null if there is none of that name.
const ConfigType* find_config_type(const std::type_info& interface, std::string_view name);
/// Finds a class or functor by name over all roles and signatures. "Role.Class" tells apart classes
/// of the same name. Throws ConfigError if the name is unknown (with the nearest names) or
/// ambiguous.
const ConfigType& find_config_type(std::string_view name);
/// Returns the free function of that name, or null.
AnyFunction find_function(const std::type_info& signature, std::string_view name);
/// Like find_function, but throws ConfigError with the nearest name if there is none. Example, a
/// recipe: function_named<Trainer::Config()>(name, "recipe").
AnyFunction function_named(const std::type_info& signature, std::string_view name,
                           std::string_view what);
template <class Sig>
Sig* function_named(std::string_view name, std::string_view what) {
  return reinterpret_cast<Sig*>(function_named(typeid(Sig), name, what));
}

/// Returns the class of a role, or the functor of a signature, that a plain number stands for: the
/// one that declares kFromNumber; null if none does.
const ConfigType* find_number_type(const std::type_info& interface);
/// Returns every config struct in order of registration, including structs that cannot be found by
/// name.
std::span<const ConfigType* const> registered_configs();

/// Returns the default config of a class. Throws ConfigError "no Norm is called 'LayrNorm'; did you
/// mean 'LayerNorm'? (...)".
AnyConfig make_config(const RoleInfo& role, std::string_view name);
/// Throws the error that make_config documents, or that of functions if `role` is null.
[[noreturn]] void fail_no_class(const std::type_info& interface, const RoleInfo* role,
                                std::string_view name);

/// A role with its classes, sorted by name.
struct RoleListing {
  const RoleInfo* role;
  std::vector<const ConfigType*> classes;
};
std::vector<RoleListing> list_roles();
/// A signature ("double (long)") with its functions and functors, sorted by name.
struct SignatureListing {
  std::string signature;
  std::vector<std::string> names;
};
std::vector<SignatureListing> list_functions();

/// The comment above a struct or a field. cmake/config_docs.py extracts them from the sources when
/// the program is built.
struct ConfigDoc {
  /// The arguments of AXLE_CONFIG: "RMSNorm" and "eps".
  std::string_view owner, fields;
  /// Empty for the text of the struct itself.
  std::string_view field;
  std::string_view text;
};
/// Adds a table that must live as long as the program. Returns true, so that the initialiser of a
/// constant can call it.
bool register_docs(std::span<const ConfigDoc> docs);
/// Returns the text of a field, or of the struct if `field` is empty; "" if there is none.
std::string_view doc_of(const ConfigType& type, std::string_view field = {});

namespace detail {
/// Makes the fields of AXLE_CONFIG. The first place is the struct itself. Throws ConfigError for a
/// name that stands there twice.
std::vector<Field> make_fields(std::string_view owner, std::string_view names,
                               std::span<const void* const> places,
                               std::span<const TypeOps* const> ops);
/// Marks the fields with these names. Throws ConfigError for a name that no field has.
void mark_keeps_results(ConfigType& type, std::span<const std::string_view> names);
}  // namespace detail

}  // namespace axle
