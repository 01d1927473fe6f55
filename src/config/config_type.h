// What generic code knows of configs: the descriptor of a struct, its fields, the operations on the
// type of a field. AXLE_CONFIG declares the descriptor, AXLE_REGISTER (register.h) defines it.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/text/number.h"
#include "base/type_name.h"

namespace axle {

class AnyConfig;
class Construction;
struct ConfigType;
struct RoleInfo;
struct TypeOps;
template <class Role>
class Child;

/// Any function pointer. Callers cast it back to its own type before the call.
using AnyFunction = void (*)();

enum class FieldKind : uint8_t { kLeaf, kStruct, kChild, kFn, kOptional, kRequired, kList, kMap };
/// How a leaf is written in JSON; kText is a string whose syntax its type defines.
enum class LeafKind : uint8_t { kBool, kInteger, kNumber, kString, kText };

/// Satisfied by structs that carry AXLE_CONFIG.
template <class C>
concept Configures = requires {
  typename C::Owner;
  { C::config_type() } -> std::same_as<const ConfigType&>;
};

/// One field, list element, map element or slot option of a live config, or a whole config.
struct Slot {
  std::string name = {};  // "eps", "[0]", "['key']", "@dtype"; empty for the root
  void* at = nullptr;
  const TypeOps* ops = nullptr;
  bool keeps_results = false;  // Field::keeps_results

  Slot(std::string slot_name, void* value, const TypeOps* type, bool keeps = false)
      : name(std::move(slot_name)), at(value), ops(type), keeps_results(keeps) {}
  /// A config struct, a root Child, or an AnyConfig that is not empty. Whoever gets such a Slot
  /// reads it only; what changes a config asks for a ConfigRef (walk.h).
  template <Configures C>
  Slot(const C& config) : Slot({}, const_cast<C*>(&config), C::config_type().ops) {}
  Slot(const AnyConfig& config);
  template <class Role>
  Slot(const Child<Role>& root);
};

/// Type-erased operations on values of one field type, a constant per type. The kind decides which
/// of them are set.
struct TypeOps {
  FieldKind kind = FieldKind::kLeaf;
  const std::type_info* type = nullptr;
  void (*assign)(void* to, const void* from) = nullptr;

  // kLeaf. A value that can't be read throws ConfigError and leaves the old one. Without `write`,
  // documents hold the text.
  LeafKind leaf = LeafKind::kText;
  std::string (*text)(const void*) = nullptr;
  void (*read)(void*, const nlohmann::ordered_json&) = nullptr;
  void (*write)(const void*, nlohmann::ordered_json&) = nullptr;
  std::vector<std::string> (*choices)() = nullptr;  // enums: the texts of all values
  // numbers
  const Bounds* bounds = nullptr;
  const std::type_info* number_type = nullptr;  // without its range
  double (*number)(const void*) = nullptr;
  bool is_integer() const { return leaf == LeafKind::kInteger; }

  // kStruct
  const ConfigType& (*config_type)() = nullptr;

  // kChild, kFn
  AnyConfig& (*held)(void*) = nullptr;
  const std::type_info* interface = nullptr;  // the role or the signature
  // kChild
  const RoleInfo& (*role)() = nullptr;
  void* (*options)(void*) = nullptr;
  const ConfigType& (*options_type)() = nullptr;

  // kOptional, kRequired, kList, kMap
  const TypeOps* element = nullptr;
  void (*clear)(void*) = nullptr;
  // kOptional, kRequired
  void* (*value)(void*) = nullptr;    // null if there is none
  void* (*emplace)(void*) = nullptr;  // creates and returns a default value
  // kList, kMap
  std::vector<Slot> (*elements)(void*) = nullptr;
  // Inserts and returns a default value; a list appends it and ignores the key.
  void* (*insert)(void*, std::string_view key) = nullptr;
  // kMap: removes the entry; false if there is none
  bool (*erase)(void*, std::string_view key) = nullptr;
  // kMap whose type restricts its keys: returns "" or what is wrong with the key
  std::string (*key_problem)(std::string_view key) = nullptr;
};

struct Field {
  std::string_view name;
  size_t offset;  // bytes from the start of the struct
  const TypeOps* ops;
  /// True for a field that decides how results are computed or what is told about them: but for
  /// rounding, no parameter, no state and no loss depends on it. A struct names them:
  /// `static constexpr auto kKeepsResults = std::to_array<std::string_view>({"keys"});`
  bool keeps_results = false;
};

/// A name that a field had before. Documents and paths may still use it; only `name` is written. A
/// struct says so: `static constexpr auto kFormerNames = std::to_array<FormerName>({{"old",
/// "new"}});`
struct FormerName {
  std::string_view former, name;
};

/// The place in the tree where a module is built, passed from parent to child. All but the paths is
/// valid only during construction.
struct Scope {
  std::string path = {};
  /// The path as configs spell it, for messages: "decoder.layers.layers[1]"; empty: `path` with
  /// dots for slashes.
  std::string config_path = {};
  /// Options of the slot that holds the module's config (a `Role::Options`), and the sizes that the
  /// parent passes (a `Role::Dims`). Child::build sets them.
  const void *options = nullptr, *dims = nullptr;
  /// The module that builds this one, for roles whose modules know its type (nn/layer.h).
  const void* parent = nullptr;
  /// Where the modules of the tree note their mistakes; null: the module is built alone and throws
  /// its first one.
  Construction* construction = nullptr;

  /// Returns config_path, whether it is set or not.
  std::string as_config() const;
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
  std::vector<Field> fields = {};         // in the order of AXLE_CONFIG
  std::span<const FormerName> former_names = {};  // kFormerNames, if declared
  void* (*make_default)() = nullptr;              // makes a new default config
  void* (*copy)(const void*) = nullptr;
  void (*destroy)(void*) = nullptr;
  /// For modules: builds one; the result points to its Role.
  void* (*build)(const void* config, const void* dims, const Scope&) = nullptr;
  /// For structs with operator(): the signature, and a function `R (*)(const void* self, Args...)`.
  const std::type_info* signature = nullptr;
  AnyFunction call = nullptr;
  /// For a named function, which is a config without fields: the function itself.
  AnyFunction function = nullptr;

  /// Returns the name that a field has now; `field` itself if no field had it before.
  std::string_view present_name(std::string_view field) const;
  /// The role or signature under which the class is found by name; null for a plain struct.
  const std::type_info* interface() const { return role ? role->type : signature; }
};

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

/// Owns a config struct of any type or a named function, or is empty. Copies are deep. As the slot
/// of a Child or a Fn, an empty one counts as an unset REQUIRED field.
class AnyConfig {
 public:
  AnyConfig() = default;
  /// Takes ownership of `value`, which is a config of that type made by `new`.
  AnyConfig(const ConfigType& type, void* value) : type_(&type), value_(value, type.destroy) {}
  template <Configures C>
  static AnyConfig of(C config) {
    return AnyConfig(C::config_type(), new C(std::move(config)));
  }
  static AnyConfig with_defaults(const ConfigType& type) {
    return AnyConfig(type, type.make_default());
  }

  AnyConfig(const AnyConfig& other) {
    if (other) *this = AnyConfig(other.type(), other.type().copy(other.get()));
  }
  AnyConfig(AnyConfig&&) noexcept = default;
  // `other` may come from inside of this config.
  AnyConfig& operator=(AnyConfig other) noexcept {
    std::swap(type_, other.type_);
    std::swap(value_, other.value_);
    return *this;
  }
  void clear() { *this = AnyConfig(); }
  /// Sets the config of a slot for classes of this role or signature. Throws ConfigError if the
  /// class has another one.
  void put_as(const std::type_info& interface, AnyConfig config);

  explicit operator bool() const { return value_ != nullptr; }
  /// Must not be called on an empty AnyConfig.
  const ConfigType& type() const { return *type_; }
  /// Returns the name of the class or function; "" if there is none.
  std::string name() const { return *this ? std::string(type_->name) : ""; }
  void* get() const { return value_.get(); }
  /// Returns the config if it is exactly a C, else null.
  template <Configures C>
  C* get_if() const {
    return type_ == &C::config_type() ? static_cast<C*>(get()) : nullptr;
  }

 private:
  const ConfigType* type_ = nullptr;
  std::unique_ptr<void, void (*)(void*)> value_ = {nullptr, nullptr};
};

inline Slot::Slot(const AnyConfig& config) : Slot({}, config.get(), config.type().ops) {}

}  // namespace axle

/// The last line of every config struct: AXLE_CONFIG(Owner, every field in order). Owner is the
/// module class, or the struct itself if it has none.
#define AXLE_CONFIG(OwnerType, ...)                                    \
  using Owner = OwnerType;                                             \
  static const ::axle::ConfigType& config_type();                      \
  template <class AxleVisitor>                                         \
  void axle_fields(const AxleVisitor& axle_visitor) {                  \
    axle_visitor(#OwnerType, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__); \
  }
