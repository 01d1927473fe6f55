// AXLE_REGISTER(Class | Struct | function, "name") defines a descriptor and registers it by name.
// It stands exactly once, in a .cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/fields.h"
#include "config/leaf.h"
#include "config/registry.h"

namespace axle {
namespace detail {
template <class T>
constexpr TypeOps make_ops();
}

/// The TypeOps of every field type: constants, so that no code runs before main.
template <class T>
inline constexpr TypeOps kOps = detail::make_ops<T>();

namespace detail {

template <class T, class At>
T& as(At* at) {
  return *static_cast<T*>(at);
}
template <class V>
std::optional<V>& optional_in(std::optional<V>& o) {
  return o;
}
template <class V>
std::optional<V>& optional_in(Required<V>& r) {
  return r.slot();
}
template <class T>
concept IsList = requires {
  requires std::same_as<T, std::vector<typename T::value_type>>;
};
template <class T>
concept IsMap = requires {
  requires std::same_as<T, std::map<std::string, typename T::mapped_type, typename T::key_compare>>;
};

inline std::string name_of_entry(size_t index) { return "[" + std::to_string(index) + "]"; }
inline std::string name_of_entry(const std::string& key) { return "['" + key + "']"; }

template <class T>
constexpr void add_leaf_ops(TypeOps& ops) {
  using Value = NumberOf<T>;
  ops.text = [](const void* at) { return leaf_text(as<const T>(at)); };
  if constexpr (std::is_arithmetic_v<Value>) {
    ops.leaf = std::is_same_v<T, bool>     ? LeafKind::kBool
               : std::is_integral_v<Value> ? LeafKind::kInteger
                                           : LeafKind::kNumber;
    ops.read = [](void* at, const nlohmann::ordered_json& value) {
      as<T>(at) = NumberCodec<Value>::read(value, NumberIn<T>::kBounds);
    };
    ops.write = [](const void* at, nlohmann::ordered_json& out) {
      NumberCodec<Value>::write(as<const T>(at), out);
    };
    if constexpr (!std::is_same_v<T, bool>) {
      ops.bounds = &NumberIn<T>::kBounds;
      ops.number_type = &typeid(Value);
      ops.number = [](const void* at) { return static_cast<double>(Value{as<const T>(at)}); };
    }
  } else {
    static_assert(std::is_same_v<T, std::string> || HasText<T>,
                  "a config field is a bool, number, string, a type with to_text and from_text, a "
                  "struct with AXLE_CONFIG, a Child or Fn, or an optional, Required, vector or "
                  "map<string, ...> of one");
    ops.leaf = std::is_same_v<T, std::string> ? LeafKind::kString : LeafKind::kText;
    ops.read = [](void* at, const nlohmann::ordered_json& value) {
      as<T>(at) = parse_leaf<T>(text_in(value, kOps<T>.leaf));
    };
  }
  if constexpr (EnumWithTexts<T>) {
    ops.choices = [] {
      std::vector<std::string> texts;
      for (const auto& row : texts_of(T{})) texts.emplace_back(row.text);
      return texts;
    };
  }
}

template <class T>
constexpr TypeOps make_ops() {
  TypeOps ops{.type = &typeid(T),
              .assign = [](void* to, const void* from) { as<T>(to) = as<const T>(from); }};
  if constexpr (Configures<T>) {
    ops.kind = FieldKind::kStruct;
    ops.config_type = &T::config_type;
  } else if constexpr (std::derived_from<T, AnyConfig>) {
    ops.kind = FieldKind::kFn;
    ops.interface = &typeid(typename T::Interface);
    ops.held = [](void* at) -> AnyConfig& { return as<T>(at); };
    if constexpr (requires { typename T::Options; }) {
      ops.kind = FieldKind::kChild;
      ops.role = &role_info<typename T::Interface>;
      ops.options = [](void* at) -> void* { return &as<T>(at).options; };
      ops.options_type = &T::Options::config_type;
    }
  } else if constexpr (requires(T & v) { optional_in(v); }) {
    const bool is_optional = std::same_as<T, std::optional<typename T::value_type>>;
    ops.kind = is_optional ? FieldKind::kOptional : FieldKind::kRequired;
    ops.element = &kOps<typename T::value_type>;
    ops.clear = [](void* at) { optional_in(as<T>(at)).reset(); };
    ops.value = [](void* at) -> void* {
      auto& o = optional_in(as<T>(at));
      return o ? std::addressof(*o) : nullptr;
    };
    ops.emplace = [](void* at) -> void* {
      return std::addressof(optional_in(as<T>(at)).emplace());
    };
  } else if constexpr (IsList<T>) {
    using V = typename T::value_type;
    static_assert(!std::is_same_v<V, bool>,
                  "the elements of vector<bool> have no address: use an enum or int");
    ops.kind = FieldKind::kList;
    ops.element = &kOps<V>;
    ops.clear = [](void* at) { as<T>(at).clear(); };
    ops.elements = [](void* at) {
      std::vector<Slot> out;
      for (V& v : as<T>(at)) out.push_back({name_of_entry(out.size()), &v, &kOps<V>});
      return out;
    };
    ops.insert = [](void* at, std::string_view) -> void* { return &as<T>(at).emplace_back(); };
  } else if constexpr (IsMap<T>) {
    using V = typename T::mapped_type;
    ops.kind = FieldKind::kMap;
    ops.element = &kOps<V>;
    ops.clear = [](void* at) { as<T>(at).clear(); };
    ops.elements = [](void* at) {
      std::vector<Slot> out;
      for (auto& [key, v] : as<T>(at)) out.push_back({name_of_entry(key), &v, &kOps<V>});
      return out;
    };
    ops.insert = [](void* at, std::string_view k) -> void* { return &as<T>(at)[std::string(k)]; };
    ops.erase = [](void* at, std::string_view k) { return as<T>(at).erase(std::string(k)) > 0; };
    if constexpr (requires { T::key_compare::problem({}); })
      ops.key_problem = &T::key_compare::problem;
  } else {
    add_leaf_ops<T>(ops);
  }
  return ops;
}

template <class X>
struct ConfigOf {
  using type = X;
};
template <class X>
requires requires { typename X::Config; }
struct ConfigOf<X> {
  using type = typename X::Config;
};

template <size_t>
using AnyAt = Any;
template <class C, size_t... I>
consteval bool takes_fields(std::index_sequence<I...>) {
  return requires { C{AnyAt<I>{}...}; };
}
/// True if the aggregate C has exactly n fields.
template <class C, size_t n>
consteval bool has_fields() {
  return takes_fields<C>(std::make_index_sequence<n>()) &&
         !takes_fields<C>(std::make_index_sequence<n + 1>());
}

template <class F, class R, class... A>
void set_call(ConfigType& t, R (*)(A...)) {
  using Call = R (*)(const void*, A...);
  const Call call = [](const void* self, A... args) -> R {
    return (*static_cast<const F*>(self))(std::forward<A>(args)...);
  };
  t.signature = &typeid(R(A...));
  t.call = reinterpret_cast<AnyFunction>(call);
}

/// Makes the descriptor of the config of X, which is a class with a Config or a struct.
template <class X>
ConfigType describe() {
  using C = typename ConfigOf<X>::type;
  static_assert(
      std::is_aggregate_v<C> && std::is_copy_constructible_v<C> && std::is_copy_assignable_v<C>,
      "a config is an aggregate of copyable fields: no constructors, bases, const or move-only "
      "fields");
  static_assert(std::is_same_v<typename C::Owner, X>,
                "the first argument of AXLE_CONFIG is the class that owns it");
  ConfigType t;
  t.owner = &typeid(X);
  t.type = &typeid(C);
  t.ops = &kOps<C>;
  t.make_default = []() -> void* { return new C(); };
  t.copy = [](const void* p) -> void* { return new C(*static_cast<const C*>(p)); };
  t.destroy = [](void* p) { delete static_cast<C*>(p); };
  const AnyConfig sample = AnyConfig::with_defaults(t);
  C* const at = static_cast<C*>(sample.get());
  at->axle_fields([&]<class... Fs>(std::string_view owner, std::string_view names, Fs&... fields) {
    static_assert(has_fields<C, sizeof...(Fs)>(),
                  "AXLE_CONFIG must list every field of its struct, each once");
    const void* const places[] = {at, &fields...};
    const TypeOps* const ops[] = {nullptr, &kOps<Fs>...};
    t.name = owner;
    t.fields = make_fields(owner, names, places, ops);
  });
  if constexpr (requires { X::kDoc; }) t.doc = X::kDoc;
  if constexpr (requires { C::kFromNumber; }) t.number_field = C::kFromNumber;
  if constexpr (requires { C::kKeepsResults; }) mark_keeps_results(t, C::kKeepsResults);
  if constexpr (requires { C::kFormerNames; }) set_former_names(t, C::kFormerNames);
  if constexpr (requires { typename X::Role; }) {
    using Role = typename X::Role;
    t.role = &role_info<Role>();
    t.build = [](const void* config, const void* dims, const Scope& scope) -> void* {
      return static_cast<Role*>(new X(*static_cast<const C*>(config),
                                      *static_cast<const typename Role::Dims*>(dims), scope));
    };
  } else if constexpr (!std::is_void_v<FunctorSignature<C>>) {
    set_call<C>(t, static_cast<FunctorSignature<C>*>(nullptr));
  }
  return t;
}

inline bool enroll(const ConfigType& type) {
  register_config(type);
  return true;
}
template <class R, class... A>
bool enroll(R (*function)(A...), std::string_view name) {
  register_function(typeid(R(A...)), name, reinterpret_cast<AnyFunction>(function));
  return true;
}

}  // namespace detail
}  // namespace axle

#define AXLE_CONCAT_(a, b) a##b
#define AXLE_CONCAT(a, b) AXLE_CONCAT_(a, b)
#define AXLE_REGISTER_(X)                                                         \
  const ::axle::ConfigType& ::axle::detail::ConfigOf<X>::type::config_type() {    \
    static const ::axle::ConfigType type = ::axle::detail::describe<X>();         \
    return type;                                                                  \
  }                                                                               \
  [[maybe_unused]] static const bool AXLE_CONCAT(axle_registered_, __COUNTER__) = \
      ::axle::detail::enroll(::axle::detail::ConfigOf<X>::type::config_type());
#define AXLE_REGISTER_NAMED(function, name)                                       \
  [[maybe_unused]] static const bool AXLE_CONCAT(axle_registered_, __COUNTER__) = \
      ::axle::detail::enroll(&function, name);
/// Registers AXLE_REGISTER(Class), AXLE_REGISTER(Struct) or AXLE_REGISTER(function, "name"). It
/// stands at namespace scope of a .cpp.
#define AXLE_REGISTER(X, ...) \
  AXLE_CONCAT(AXLE_REGISTER_, __VA_OPT__(NAMED))(X __VA_OPT__(, ) __VA_ARGS__)
