// The types of fields beside plain values: Required, numbers with a range, maps by name, and the
// slots for classes (Child) and functions (Fn).
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "config/config_type.h"

namespace axle {

/// A number of type T within kRange, which converts to T: `Positive<float> eps = 1e-6f;`. C++ code
/// can assign a value out of range; check_complete() refuses it, and so does building a module from
/// it. Text out of range is refused as soon as it is read.
template <class T, Bounds kRange>
class Ranged {
 public:
  using Number = T;
  static constexpr Bounds kBounds = kRange;

  constexpr Ranged() = default;
  constexpr Ranged(T value) : value_(value) {}
  constexpr operator T() const { return value_; }

 private:
  T value_ = {};
};

namespace detail {
template <class T>
inline constexpr Bounds kPositive = {.min = 0, .open_min = true};
template <std::integral T>
inline constexpr Bounds kPositive<T> = {.min = 1};

/// Converts to any type; stands for a field value while has_fields counts the fields of an
/// aggregate.
struct Any {
  template <class T>
  operator T() const;
};

/// The plain number type of a number, with or without a range, and its range.
template <class T>
struct NumberIn {
  using type = T;
  static constexpr Bounds kBounds = {};
};
template <class T, Bounds kRange>
struct NumberIn<Ranged<T, kRange>> {
  using type = T;
  static constexpr Bounds kBounds = kRange;
};
template <class T>
using NumberOf = typename NumberIn<T>::type;

[[noreturn]] void fail_unset_read();
[[noreturn]] void fail_empty_fn(const std::type_info& signature);
}  // namespace detail

template <class T>
using Positive = Ranged<T, detail::kPositive<T>>;
template <class T>
using NonNegative = Ranged<T, Bounds{.min = 0}>;
template <class T, int64_t kMin>
using AtLeast = Ranged<T, Bounds{.min = kMin}>;
/// From 0 to 1.
using Fraction = Ranged<double, Bounds{.min = 0, .max = 1}>;
/// At least 0 and below 1.
using FractionBelowOne = Ranged<double, Bounds{.min = 0, .max = 1, .open_max = true}>;

/// Orders the keys of a map and defines which are valid, for keys that become names of files and
/// records: letters, digits, '_', '-' and '.', with no '.' at the front.
struct NameOrder : std::less<std::string> {
  /// Returns "" for a valid key, else what is wrong with it: "expected a name of letters, ..., got
  /// '../x'".
  static std::string problem(std::string_view key);
};
template <class V>
using NamedMap = std::map<std::string, V, NameOrder>;

inline constexpr struct RequiredTag {
} REQUIRED;

/// A value that must be set before it is read: `Required<int64_t> num_heads = REQUIRED;`. Reading
/// it before throws ConfigError; missing() lists all unset fields.
template <class T>
class Required {
 public:
  using value_type = T;

  Required(RequiredTag) {}
  Required(T value) : value_(std::move(value)) {}
  template <std::convertible_to<T> U>
  requires(!std::same_as<U, detail::Any> && !std::same_as<U, T>) Required(U value)
      : value_(static_cast<T>(std::move(value))) {}

  operator const T&() const { return get(); }
  operator detail::NumberOf<T>() const requires(!std::same_as<T, detail::NumberOf<T>>) {
    return get();
  }
  const T& get() const {
    if (!value_) detail::fail_unset_read();
    return *value_;
  }
  const T* operator->() const { return &get(); }
  const T& operator*() const { return get(); }
  bool has_value() const { return value_.has_value(); }

  /// Returns the storage of the value, for generic code; it is none while the field is unset.
  std::optional<T>& slot() { return value_; }

 private:
  std::optional<T> value_;
};

/// The options of a role that declares none, and the config of a named function.
struct NoFields {
  AXLE_CONFIG(NoFields)
};

namespace detail {
template <class Role>
auto options_of() {
  if constexpr (requires { typename Role::Options; })
    return std::type_identity<typename Role::Options>();
  else
    return std::type_identity<NoFields>();
}

template <class Module, class Role>
concept Implements = std::is_same_v<typename Module::Role, Role>;

/// The type of {} in place of dims. An empty list prefers it to any struct of dims.
class Nothing {
  Nothing() = delete;
};
using NoDims = std::initializer_list<Nothing>;
template <class Role>
typename Role::Dims no_dims() {
  static_assert(std::is_empty_v<typename Role::Dims>,
                "{} forgets the dims of the role: name each of them, as in {.input_dim = dim}");
  return {};
}

/// What Child<Role> knows of a module to build; `destroy` takes a Role.
struct Building {
  const AnyConfig& config;
  const std::type_info& role;
  const void *options, *dims;
  void (*destroy)(void*);
};
void* build(const Building& building, const Scope& scope);
/// Returns the config of a named function.
AnyConfig function_config(const std::type_info& signature, std::string name, AnyFunction function);
}  // namespace detail

/// A slot for the config of any module that implements `Role`, together with the options of the
/// role. Copies are deep. A role declares `Dims`, the sizes that a parent passes when it builds the
/// module, and may declare `Options`, a struct with AXLE_CONFIG.
template <class Role>
class Child : public AnyConfig {
 public:
  using Interface = Role;
  using Options = typename decltype(detail::options_of<Role>())::type;

  /// Makes an empty slot.
  Child() = default;
  template <Configures C>
  Child(C config, Options slot_options = {})
      : AnyConfig(AnyConfig::of(std::move(config))), options(std::move(slot_options)) {
    static_assert(detail::Implements<typename C::Owner, Role>,
                  "this module does not implement the role of the slot");
  }

  /// Returns the config, which has no options.
  const AnyConfig& any() const { return *this; }
  AnyConfig& any() { return *this; }
  /// Returns the config if it is a `Module::Config`, else null.
  template <class Module>
  typename Module::Config* get_if() {
    return AnyConfig::get_if<typename Module::Config>();
  }
  template <class Module>
  const typename Module::Config* get_if() const {
    return AnyConfig::get_if<typename Module::Config>();
  }
  /// Replaces the config and keeps the options. Throws ConfigError if the config implements another
  /// role.
  void put(AnyConfig config) { put_as(typeid(Role), std::move(config)); }

  /// Builds the module. Throws ConfigError for an empty slot or a number out of range, and whatever
  /// the module's constructor throws. The error has the mistakes of the module and all its parts.
  /// As a part of another module, it notes the error in scope.construction and returns null, so
  /// that the other parts are checked too.
  std::unique_ptr<Role> build(const typename Role::Dims& dims, const Scope& scope) const {
    const detail::Building building{*this, typeid(Role), &options, &dims,
                                    [](void* p) { delete static_cast<Role*>(p); }};
    return std::unique_ptr<Role>(static_cast<Role*>(detail::build(building, scope)));
  }
  std::unique_ptr<Role> build(detail::NoDims, const Scope& scope) const {
    return build(detail::no_dims<Role>(), scope);
  }

  Options options = {};
};

namespace detail {
template <class F, class R, class... A>
std::type_identity<R(A...)> signature_of(R (F::*)(A...) const);
template <class F>
auto signature_of() {
  if constexpr (requires { typename F::Signature; })
    return std::type_identity<typename F::Signature>();
  else if constexpr (requires { &F::operator(); })
    return decltype(signature_of(&F::operator()))();
  else
    return std::type_identity<void>();
}
/// The call signature of a functor: its `Signature` if declared (needed if operator() is
/// overloaded), else the signature of its operator(); void for anything else.
template <class F>
using FunctorSignature = typename decltype(signature_of<F>())::type;
}  // namespace detail

template <class Sig>
class Fn;
/// A configurable function: `Fn<int64_t(int64_t)> hidden_dim = ScaledDim{.scale = 4}` or `{"silu",
/// &silu}`. The struct of a functor carries AXLE_CONFIG and has exactly this signature, so that
/// YAML can name it.
template <class R, class... A>
class Fn<R(A...)> : public AnyConfig {
 public:
  using Interface = R(A...);
  /// Makes an empty slot.
  Fn() = default;
  template <Configures F>
  Fn(F functor) : AnyConfig(AnyConfig::of(std::move(functor))) {
    static_assert(std::is_same_v<detail::FunctorSignature<F>, R(A...)>,
                  "the functor's operator() const must have exactly the signature of the Fn");
  }
  /// `name` is the one given to AXLE_REGISTER(function, "name").
  Fn(std::string name, R (*function)(A...))
      : AnyConfig(detail::function_config(typeid(R(A...)), std::move(name),
                                          reinterpret_cast<AnyFunction>(function))) {}

  /// Returns the functor, which is empty for a named function.
  const AnyConfig& functor() const {
    static const AnyConfig none;
    return *this && type().function ? none : *this;
  }
  /// Throws ConfigError if the slot is empty.
  R operator()(A... args) const {
    if (!*this) detail::fail_empty_fn(typeid(R(A...)));
    if (const AnyFunction function = type().function)
      return reinterpret_cast<R (*)(A...)>(function)(std::forward<A>(args)...);
    const auto call = reinterpret_cast<R (*)(const void*, A...)>(type().call);
    return call(get(), std::forward<A>(args)...);
  }
};

}  // namespace axle
