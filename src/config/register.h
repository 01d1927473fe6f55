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

#include "config/codec.h"
#include "config/fields.h"
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

template <class T>
T& as(void* at) {
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

// Each overload fills in the operations of one kind.
template <class T>
constexpr void add_ops(TypeOps& ops, const T*) {
  ops.leaf = Codec<T>::kKind;
  using Value = typename Codec<T>::Value;
  if constexpr (std::is_arithmetic_v<Value>) {
    ops.text = &Scalar<Value>::text;
    ops.read = &Scalar<Value>::read;
    ops.write = &Scalar<Value>::write;
    if constexpr (!std::is_same_v<T, bool>) {
      ops.bounds = &NumberIn<T>::kBounds;
      ops.number_type = &typeid(Value);
      ops.number = &Scalar<Value>::number;
    }
  } else {
    ops.text = [](const void* at) { return Codec<T>::text(*static_cast<const T*>(at)); };
    ops.read = [](const TypeOps& self, void* at, const nlohmann::ordered_json& value) {
      as<T>(at) = Codec<T>::parse(text_in(value, self.leaf));
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

template <Configures T>
constexpr void add_ops(TypeOps& ops, const T*) {
  ops.kind = FieldKind::kStruct;
  ops.config_type = &T::config_type;
}

template <class Role>
constexpr void add_ops(TypeOps& ops, const Child<Role>*) {
  using T = Child<Role>;
  ops.kind = FieldKind::kChild;
  ops.held = [](void* at) -> ClassSlot& { return as<T>(at); };
  ops.interface = &typeid(Role);
  ops.role = &role_info<Role>;
  ops.options = [](void* at) -> void* { return &as<T>(at).options; };
  ops.options_type = &T::Options::config_type;
}

template <class Sig>
constexpr void add_ops(TypeOps& ops, const Fn<Sig>*) {
  ops.kind = FieldKind::kFn;
  ops.held = [](void* at) -> ClassSlot& { return as<Fn<Sig>>(at); };
  ops.interface = &typeid(Sig);
}

template <class T, class V>
constexpr void add_value_ops(TypeOps& ops, FieldKind kind) {
  ops.kind = kind;
  ops.element = &kOps<V>;
  ops.clear = [](void* at) { optional_in(as<T>(at)).reset(); };
  ops.value = [](void* at) -> void* {
    auto& o = optional_in(as<T>(at));
    return o ? std::addressof(*o) : nullptr;
  };
  ops.emplace = [](void* at) -> void* { return std::addressof(optional_in(as<T>(at)).emplace()); };
}
template <class V>
constexpr void add_ops(TypeOps& ops, const std::optional<V>*) {
  add_value_ops<std::optional<V>, V>(ops, FieldKind::kOptional);
}
template <class V>
constexpr void add_ops(TypeOps& ops, const Required<V>*) {
  add_value_ops<Required<V>, V>(ops, FieldKind::kRequired);
}

template <class V>
constexpr void add_ops(TypeOps& ops, const std::vector<V>*) {
  static_assert(!std::is_same_v<V, bool>,
                "the elements of vector<bool> have no address: use an enum or int");
  using T = std::vector<V>;
  ops.kind = FieldKind::kList;
  ops.element = &kOps<V>;
  ops.clear = [](void* at) { as<T>(at).clear(); };
  ops.elements = [](void* at) {
    std::vector<Element> out;
    for (V& v : as<T>(at)) out.push_back({{}, &v});
    return out;
  };
  ops.insert = [](void* at, std::string_view) -> void* { return &as<T>(at).emplace_back(); };
}

template <class V, class Less>
constexpr void add_ops(TypeOps& ops, const std::map<std::string, V, Less>*) {
  using T = std::map<std::string, V, Less>;
  ops.kind = FieldKind::kMap;
  ops.element = &kOps<V>;
  ops.clear = [](void* at) { as<T>(at).clear(); };
  ops.elements = [](void* at) {
    std::vector<Element> out;
    for (auto& [key, v] : as<T>(at)) out.push_back({key, &v});
    return out;
  };
  ops.insert = [](void* at, std::string_view key) -> void* { return &as<T>(at)[std::string(key)]; };
  ops.erase = [](void* at, std::string_view key) { return as<T>(at).erase(std::string(key)) > 0; };
  if constexpr (requires { Less::problem({}); }) ops.key_problem = &Less::problem;
}

template <class T>
constexpr TypeOps make_ops() {
  TypeOps ops{.type = &typeid(T), .assign = [](void* to, const void* from) {
                as<T>(to) = *static_cast<const T*>(from);
              }};
  add_ops(ops, static_cast<const T*>(nullptr));
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
  if constexpr (requires { typename X::Role; }) {
    using Role = typename X::Role;
    t.role = &role_info<Role>();
    t.build = [](const void* config, const void* dims, const Scope& scope) -> void* {
      return static_cast<Role*>(new X(*static_cast<const C*>(config),
                                      *static_cast<const typename Role::Dims*>(dims), scope));
    };
  } else if constexpr (!std::is_void_v<typename FunctorSignature<C>::type>) {
    set_call<C>(t, static_cast<typename FunctorSignature<C>::type*>(nullptr));
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
