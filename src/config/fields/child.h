// Slots for sub-configs: Child<Role> holds the config of any module that implements Role.
#pragma once

#include <initializer_list>
#include <memory>
#include <type_traits>

#include "config/axle_config.h"
#include "config/fields/any_config.h"

namespace axle {

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
}  // namespace detail

/// The part of Child<Role> that does not depend on the role.
class ChildSlot {
 public:
  explicit operator bool() const { return static_cast<bool>(held_); }
  const AnyConfig& any() const { return held_; }
  AnyConfig& any() { return held_; }
  /// Returns the config if it is a `Module::Config`, else null.
  template <class Module>
  typename Module::Config* get_if() {
    return held_.get_if<typename Module::Config>();
  }
  template <class Module>
  const typename Module::Config* get_if() const {
    return held_.get_if<typename Module::Config>();
  }
  /// Sets the config; for generic code, which passes the role of the slot. Throws ConfigError if
  /// the config implements another role.
  void put_as(const RoleInfo& role, AnyConfig config);

 protected:
  /// What Child<Role> knows of a module to build; `destroy` takes a Role.
  struct Building {
    const RoleInfo& role;
    const void *options, *dims;
    void (*destroy)(void*);
  };
  void* build_as(const Building& building, const Scope& scope) const;
  void* build_part_as(const Building& building, const Scope& scope) const;
  ChildSlot() = default;
  explicit ChildSlot(AnyConfig held) : held_(std::move(held)) {}

 private:
  AnyConfig held_;
};

/// A slot for the config of any module that implements `Role`, together with the options of the
/// role. Copies are deep. A role declares `Dims`, the sizes that a parent passes when it builds the
/// module, and may declare `Options`, a struct with AXLE_CONFIG.
template <class Role>
class Child : public ChildSlot {
 public:
  using Options = typename detail::OptionsOf<Role>::type;

  /// Makes an empty slot, which counts as an unset REQUIRED field.
  Child() = default;
  template <Configures C>
  Child(C config) : Child(std::move(config), Options{}) {}
  template <Configures C>
  Child(C config, Options slot_options)
      : ChildSlot(make(std::move(config))), options(std::move(slot_options)) {}

  /// Builds the module. Throws ConfigError for an empty slot or a number out of range, and whatever
  /// the module's constructor throws. The error has the mistakes of the module and all its parts.
  std::unique_ptr<Role> build(const typename Role::Dims& dims, const Scope& scope) const {
    return owned(build_as(building(dims), scope));
  }
  std::unique_ptr<Role> build(detail::NoDims, const Scope& scope) const {
    return build(detail::no_dims<Role>(), scope);
  }
  /// Builds the module as a part of another one. Where build() throws ConfigError, it notes the
  /// error in scope.construction and returns null, so that the other parts are checked too. Without
  /// a construction it is build().
  std::unique_ptr<Role> build_part(const typename Role::Dims& dims, const Scope& scope) const {
    return owned(build_part_as(building(dims), scope));
  }
  std::unique_ptr<Role> build_part(detail::NoDims, const Scope& scope) const {
    return build_part(detail::no_dims<Role>(), scope);
  }
  /// Replaces the config and keeps the options. Throws ConfigError if the config implements another
  /// role.
  void put(AnyConfig config) { put_as(role_info<Role>(), std::move(config)); }

  Options options = {};

 private:
  Building building(const typename Role::Dims& dims) const {
    return {role_info<Role>(), &options, &dims, [](void* p) { delete static_cast<Role*>(p); }};
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

}  // namespace axle
