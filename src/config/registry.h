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
/// Does the same with a named function.
void register_function(const std::type_info& signature, std::string_view name,
                       AnyFunction function);

/// Returns the names of the classes of a role, or of the functions and functors of a signature,
/// sorted.
std::vector<std::string> names_of(const std::type_info& interface);
/// Returns the class of a role, or the functor or function of a signature. Throws ConfigError "no
/// Norm is called 'LayrNorm'; did you mean 'LayerNorm'? (...)".
const ConfigType& find_config_type(const std::type_info& interface, std::string_view name);
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

/// A role with its classes, or a signature ("double (long)") with its functors and functions.
struct Listing {
  const RoleInfo* role;  // null: a signature
  std::string name;      // of the role; the signature
  std::vector<const ConfigType*> classes;
};
/// Both are sorted by name, as are the classes in them.
std::vector<Listing> list_roles();
std::vector<Listing> list_functions();

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
/// Throws ConfigError for a former name of no field, and for one that a field has now.
void set_former_names(ConfigType& type, std::span<const FormerName> names);
}  // namespace detail

}  // namespace axle
