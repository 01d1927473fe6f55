// What generic code knows of configs: the descriptor of a struct, its fields, the operations on the
// type of a field. AXLE_CONFIG declares the descriptor, AXLE_REGISTER (register.h) defines it.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

namespace axle {

class ClassSlot;
class Construction;
struct ConfigType;
struct RoleInfo;

/// Any function pointer. Callers cast it back to its own type before the call.
using AnyFunction = void (*)();

enum class FieldKind : uint8_t { kLeaf, kStruct, kChild, kFn, kOptional, kRequired, kList, kMap };
/// How a leaf is written in JSON; kText is a string whose syntax its type defines.
enum class LeafKind : uint8_t { kBool, kInteger, kNumber, kString, kText };

/// The range of a number: from min to max. An open end is excluded. NaN and infinity are never in
/// range.
struct Bounds {
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
  bool open_min = false, open_max = false;

  constexpr bool has_min() const { return min != Bounds{}.min; }
  constexpr bool has_max() const { return max != Bounds{}.max; }
  constexpr bool contain(double v) const {
    return (open_min ? v > min : v >= min) && (open_max ? v < max : v <= max);
  }
};
/// Returns the range in words: "an integer of at least 1", "a number above 0", "a number of at
/// least 0 and below 1"; without bounds "an integer" or "a finite number".
std::string range_text(const Bounds& bounds, LeafKind kind);

/// One element of a list (empty key) or a map.
struct Element {
  std::string key;
  void* at;
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
  void (*read)(const TypeOps&, void*, const nlohmann::ordered_json&) = nullptr;
  void (*write)(const void*, nlohmann::ordered_json&) = nullptr;
  std::vector<std::string> (*choices)() = nullptr;  // enums: the texts of all values
  // numbers
  const Bounds* bounds = nullptr;
  const std::type_info* number_type = nullptr;  // without its range
  double (*number)(const void*) = nullptr;

  // kStruct
  const ConfigType& (*config_type)() = nullptr;

  // kChild, kFn
  ClassSlot& (*held)(void*) = nullptr;
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
  std::vector<Element> (*elements)(void*) = nullptr;
  // Inserts and returns a default value; a list appends it and ignores the key.
  void* (*insert)(void*, std::string_view key) = nullptr;
  // kMap: removes the entry; false if there is none
  bool (*erase)(void*, std::string_view key) = nullptr;
  // kMap whose type restricts its keys: returns "" or what is wrong with the key
  std::string (*key_problem)(std::string_view key) = nullptr;
};

/// One field, list element, map element or slot option of a live config.
struct Slot {
  std::string name;  // "eps", "[0]", "['key']", "@dtype"; empty for the root
  void* at = nullptr;
  const TypeOps* ops = nullptr;
  bool keeps_results = false;  // Field::keeps_results
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
  void* (*make_default)() = nullptr;      // makes a new default config
  void* (*copy)(const void*) = nullptr;
  void (*destroy)(void*) = nullptr;
  /// For modules: builds one; the result points to its Role.
  void* (*build)(const void* config, const void* dims, const Scope&) = nullptr;
  /// For structs with operator(): the signature, and a function `R (*)(const void* self, Args...)`.
  const std::type_info* signature = nullptr;
  AnyFunction call = nullptr;

  /// The role or signature under which the class is found by name; null for a plain struct.
  const std::type_info* interface() const { return role ? role->type : signature; }
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

/// Owns a config struct of any type, or is empty. Copies are deep.
class AnyConfig {
 public:
  AnyConfig() = default;
  /// Takes ownership of `value`, which is a config of that type made by `new`.
  AnyConfig(const ConfigType& type, void* value) : type_(&type), value_(value) {}
  template <Configures C>
  static AnyConfig of(C config) {
    return AnyConfig(C::config_type(), new C(std::move(config)));
  }
  static AnyConfig with_defaults(const ConfigType& type) {
    return AnyConfig(type, type.make_default());
  }

  AnyConfig(const AnyConfig& other)
      : type_(other.type_), value_(other.type_ ? other.type_->copy(other.value_) : nullptr) {}
  AnyConfig(AnyConfig&& other) noexcept
      : type_(std::exchange(other.type_, nullptr)), value_(std::exchange(other.value_, nullptr)) {}
  AnyConfig& operator=(AnyConfig other) noexcept {
    std::swap(type_, other.type_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~AnyConfig() {
    if (type_) type_->destroy(value_);
  }

  explicit operator bool() const { return type_ != nullptr; }
  /// Must not be called on an empty AnyConfig.
  const ConfigType& type() const { return *type_; }
  void* get() const { return value_; }
  /// Returns the config if it is exactly a C, else null.
  template <Configures C>
  C* get_if() const {
    return type_ == &C::config_type() ? static_cast<C*>(value_) : nullptr;
  }

 private:
  const ConfigType* type_ = nullptr;
  void* value_ = nullptr;
};

/// What a Child or a Fn holds: the config of a class, or for a Fn a named function; or nothing,
/// which counts as an unset REQUIRED field.
class ClassSlot {
 public:
  explicit operator bool() const { return held_ || function_; }
  /// Returns the name of the class or function; "" if the slot is empty.
  std::string name() const { return held_ ? std::string(held_.type().name) : function_name_; }
  /// Returns the config, which is empty for a named function.
  const AnyConfig& any() const { return held_; }
  AnyConfig& any() { return held_; }
  /// Sets the config; for generic code, which passes the role or signature of the slot. Throws
  /// ConfigError if the class has another one.
  void put_as(const std::type_info& interface, AnyConfig config);
  /// Sets a named function that was found by `name` under the slot's signature.
  void put_as(std::string name, AnyFunction function);
  void clear() { put_as({}, nullptr); }

 protected:
  ClassSlot() = default;
  explicit ClassSlot(AnyConfig held) : held_(std::move(held)) {}
  AnyConfig held_;
  std::string function_name_;
  AnyFunction function_ = nullptr;
};

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
