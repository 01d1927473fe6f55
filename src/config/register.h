// AXLE_REGISTER(Class | Struct | function, "name") defines a descriptor and registers it by name.
// It stands exactly once, in a .cpp.
#pragma once

#include <type_traits>
#include <utility>

#include "config/fields/fn.h"
#include "config/fields/required.h"
#include "config/registry.h"
#include "config/type_ops.h"

namespace axle::detail {

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

std::vector<Field> make_fields(std::string_view owner, std::string_view names, const void* base,
                               std::span<const void* const> at,
                               std::span<const TypeOps* const> ops);
/// Marks the fields with these names. Throws ConfigError for a name that no field has.
void mark_keeps_results(ConfigType& type, std::span<const std::string_view> names);

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
  C sample{};
  sample.axle_fields(
      [&]<class... Fs>(std::string_view owner, std::string_view names, Fs&... fields) {
        static_assert(has_fields<C, sizeof...(Fs)>(),
                      "AXLE_CONFIG must list every field of its struct, each once");
        const void* at[] = {&sample, &fields...};
        const TypeOps* ops[] = {nullptr, &kOps<Fs>...};
        t.name = owner;
        t.fields =
            make_fields(owner, names, &sample, std::span(at).subspan(1), std::span(ops).subspan(1));
      });
  t.owner = &typeid(X);
  t.type = &typeid(C);
  t.ops = &kOps<C>;
  t.make_default = []() -> void* { return new C(); };
  t.copy = [](const void* p) -> void* { return new C(*static_cast<const C*>(p)); };
  t.destroy = [](void* p) { delete static_cast<C*>(p); };
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

}  // namespace axle::detail

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
