// The descriptor of one Config struct: AXLE_CONFIG declares it, AXLE_REGISTER defines it.
#pragma once

#include <array>
#include <concepts>
#include <span>

#include "config/scope.h"
#include "config/slot.h"

namespace axle {

/// Any function pointer. Callers cast it back to its own type before the call.
using AnyFunction = void (*)();

struct Field {
  std::string_view name;
  size_t offset;  // bytes from the start of the struct
  const TypeOps* ops;
  /// True for a field that decides how results are computed or what is told about them: but for
  /// rounding, no parameter, no state and no loss depends on it. A struct names them:
  /// `static constexpr auto kKeepsResults = std::to_array<std::string_view>({"keys"});`
  bool keeps_results = false;
};

/// The description of a role (Norm, Projection, Input, ...): the base class of all modules that fit
/// one kind of Child.
struct RoleInfo {
  const std::type_info* type;
  std::string name;                          // without namespaces
  std::span<const std::string_view> inputs;  // input names of a call: Role::kInputs, if declared
  const ConfigType& (*dims)() = nullptr;     // Role::Dims, if declared with AXLE_CONFIG; else null
};

struct ConfigType {
  std::string_view name;          // name of the owner: "RMSNorm"
  std::string_view doc;           // the owner's kDoc, if declared
  std::string_view number_field;  // kFromNumber, if declared: the field that a plain number sets
  const std::type_info* owner = nullptr;  // the module class; the struct itself for a plain struct
  const std::type_info* type = nullptr;   // the Config struct
  const TypeOps* ops = nullptr;           // operations of the Config struct
  const RoleInfo* role = nullptr;         // null for a plain struct
  std::vector<Field> fields;              // in the order of AXLE_CONFIG
  void* (*make_default)() = nullptr;      // makes a new default config
  void* (*copy)(const void*) = nullptr;
  void (*destroy)(void*) = nullptr;
  /// For modules: builds one; the result points to its Role.
  void* (*build)(const void* config, const void* dims, const Scope&) = nullptr;
  /// For structs with operator(): the signature, and a function `R (*)(const void* self, Args...)`.
  const std::type_info* signature = nullptr;
  AnyFunction call = nullptr;
};

/// Satisfied by structs that carry AXLE_CONFIG.
template <class C>
concept Configures = requires {
  typename C::Owner;
  { C::config_type() } -> std::same_as<const ConfigType&>;
};

/// Returns the C++ name without namespaces: "RMSNorm" for axle::RMSNorm, "Tensor (Tensor const&)"
/// for a signature.
std::string short_type_name(const char* mangled);
inline std::string short_type_name(const std::type_info& type) {
  return short_type_name(type.name());
}
/// True if `type` is `base` or inherits from it.
bool derives_from(const std::type_info& type, const std::type_info& base);

/// Returns the only RoleInfo of a role.
template <class Role>
const RoleInfo& role_info() {
  static const RoleInfo info = [] {
    RoleInfo r{.type = &typeid(Role), .name = short_type_name(typeid(Role)), .inputs = {}};
    if constexpr (requires { Role::kInputs; })
      r.inputs = std::span<const std::string_view>(Role::kInputs);
    if constexpr (requires { requires Configures<typename Role::Dims>; })
      r.dims = &Role::Dims::config_type;
    return r;
  }();
  return info;
}

}  // namespace axle
