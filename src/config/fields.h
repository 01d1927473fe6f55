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

/// True for zero and for values in the range of normal f32 numbers. Layers and learners compute in
/// f32 at most, where any other value would become zero or infinite; every field refuses it, even a
/// double.
bool fits_device(double v);
inline constexpr std::string_view kFitsDevice = "a number that fits into 32 bits";

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

/// The options of a role that declares none.
struct NoOptions {
  AXLE_CONFIG(NoOptions)
};

namespace detail {
template <class Role>
struct OptionsOf {
  using type = NoOptions;
};
template <class Role>
requires requires { typename Role::Options; }
struct OptionsOf<Role> {
  using type = typename Role::Options;
};

template <class Module>
struct RoleOf {
  using type = void;
};
template <class Module>
requires requires { typename Module::Role; }
struct RoleOf<Module> {
  using type = typename Module::Role;
};

template <class Module, class RoleOfTheSlot>
consteval bool fits() {
  constexpr bool same = std::is_same_v<typename RoleOf<Module>::type, RoleOfTheSlot>;
  static_assert(same, "this module does not implement the role of the slot");
  return same;
}

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
void* build_part(const Building& building, const Scope& scope);
}  // namespace detail

/// A slot for the config of any module that implements `Role`, together with the options of the
/// role. Copies are deep. A role declares `Dims`, the sizes that a parent passes when it builds the
/// module, and may declare `Options`, a struct with AXLE_CONFIG.
template <class Role>
class Child : public ClassSlot {
 public:
  using Options = typename detail::OptionsOf<Role>::type;

  /// Makes an empty slot.
  Child() = default;
  template <Configures C>
  Child(C config) : Child(std::move(config), Options{}) {}
  template <Configures C>
  Child(C config, Options slot_options)
      : ClassSlot(make(std::move(config))), options(std::move(slot_options)) {}

  /// Returns the config if it is a `Module::Config`, else null.
  template <class Module>
  typename Module::Config* get_if() {
    return held_.get_if<typename Module::Config>();
  }
  template <class Module>
  const typename Module::Config* get_if() const {
    return held_.get_if<typename Module::Config>();
  }
  /// Replaces the config and keeps the options. Throws ConfigError if the config implements another
  /// role.
  void put(AnyConfig config) { put_as(typeid(Role), std::move(config)); }

  /// Builds the module. Throws ConfigError for an empty slot or a number out of range, and whatever
  /// the module's constructor throws. The error has the mistakes of the module and all its parts.
  std::unique_ptr<Role> build(const typename Role::Dims& dims, const Scope& scope) const {
    return owned(detail::build(building(dims), scope));
  }
  std::unique_ptr<Role> build(detail::NoDims, const Scope& scope) const {
    return build(detail::no_dims<Role>(), scope);
  }
  /// Builds the module as a part of another one. Where build() throws ConfigError, it notes the
  /// error in scope.construction and returns null, so that the other parts are checked too. Without
  /// a construction it is build().
  std::unique_ptr<Role> build_part(const typename Role::Dims& dims, const Scope& scope) const {
    return owned(detail::build_part(building(dims), scope));
  }
  std::unique_ptr<Role> build_part(detail::NoDims, const Scope& scope) const {
    return build_part(detail::no_dims<Role>(), scope);
  }

  Options options = {};

 private:
  detail::Building building(const typename Role::Dims& dims) const {
    return {held_, typeid(Role), &options, &dims, [](void* p) { delete static_cast<Role*>(p); }};
  }
  static std::unique_ptr<Role> owned(void* built) {
    return std::unique_ptr<Role>(static_cast<Role*>(built));
  }
  template <class C>
  static AnyConfig make(C config) {
    if constexpr (detail::fits<typename C::Owner, Role>()) return AnyConfig::of(std::move(config));
    return {};
  }
};

namespace detail {
template <class M>
struct MemberSignature;
template <class F, class R, class... A>
struct MemberSignature<R (F::*)(A...) const> {
  using type = R(A...);
};
template <class F, class R, class... A>
struct MemberSignature<R (F::*)(A...) const noexcept> {
  using type = R(A...);
};

/// The call signature of a functor: its `Signature` if declared (needed if operator() is
/// overloaded), else the signature of its operator().
template <class F>
struct FunctorSignature {
  using type = void;
};
template <class F>
requires requires { typename F::Signature; }
struct FunctorSignature<F> {
  using type = typename F::Signature;
};
template <class F>
requires(!requires { typename F::Signature; }) && requires { &F::operator(); }
struct FunctorSignature<F> : MemberSignature<decltype(&F::operator())> {};
}  // namespace detail

template <class Sig>
class Fn;
/// A configurable function: `Fn<int64_t(int64_t)> hidden_dim = ScaledDim{.scale = 4}` or `{"silu",
/// &silu}`. The struct of a functor carries AXLE_CONFIG and has exactly this signature, so that
/// YAML can name it.
template <class R, class... A>
class Fn<R(A...)> : public ClassSlot {
 public:
  /// Makes an empty slot.
  Fn() = default;
  template <Configures F>
  Fn(F functor) : ClassSlot(AnyConfig::of(std::move(functor))) {
    static_assert(std::is_same_v<typename detail::FunctorSignature<F>::type, R(A...)>,
                  "the functor's operator() const must have exactly the signature of the Fn");
  }
  /// `name` is the one given to AXLE_REGISTER(function, "name").
  Fn(std::string name, R (*function)(A...)) {
    put_as(std::move(name), reinterpret_cast<AnyFunction>(function));
  }

  /// Returns the functor, which is empty for a named function.
  const AnyConfig& functor() const { return held_; }
  AnyConfig& functor() { return held_; }
  /// Throws ConfigError if the slot is empty.
  R operator()(A... args) const {
    if (function_) return reinterpret_cast<R (*)(A...)>(function_)(std::forward<A>(args)...);
    if (!held_) detail::fail_empty_fn(typeid(R(A...)));
    const auto call = reinterpret_cast<R (*)(const void*, A...)>(held_.type().call);
    return call(held_.get(), std::forward<A>(args)...);
  }
};

}  // namespace axle
