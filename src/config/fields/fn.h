// Functions as config values: a struct with fields and operator(), or a named free function.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "config/fields/any_config.h"

namespace axle {

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

/// The call signature of a functor: `Signature` where declared (needed if operator() is
/// overloaded), else operator()'s.
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

[[noreturn]] void fail_empty_fn(const std::type_info& signature);
}  // namespace detail

/// What all Fn<Sig> have in common.
class FnSlot {
 public:
  explicit operator bool() const { return plain_ || functor_; }
  /// Name of the function or of the functor's struct; empty where nothing is held.
  std::string name() const { return functor_ ? std::string(functor_.type().name) : name_; }
  /// The functor; empty for a named function.
  const AnyConfig& functor() const { return functor_; }
  AnyConfig& functor() { return functor_; }

  /// For generic code, which knows the signature of the slot. Throws ConfigError if the functor has
  /// another one.
  void put_as(const std::type_info& signature, AnyConfig functor);
  /// `function` as found by `name` under the slot's signature.
  void put_as(std::string name, AnyFunction function);
  void clear();

 protected:
  FnSlot() = default;
  AnyConfig functor_;
  std::string name_;
  AnyFunction plain_ = nullptr;
};

template <class Sig>
class Fn;
/// A configurable function: `Fn<int64_t(int64_t)> hidden_dim = ScaledDim{.scale = 4}` or `{"silu",
/// &silu}`. The functor's struct carries AXLE_CONFIG and has exactly this signature, so that YAML
/// can name it.
template <class R, class... A>
class Fn<R(A...)> : public FnSlot {
 public:
  /// Empty: counts as an unset REQUIRED field.
  Fn() = default;
  template <Configures F>
  Fn(F functor) {
    static_assert(std::is_same_v<typename detail::FunctorSignature<F>::type, R(A...)>,
                  "the functor's operator() const must have exactly the signature of the Fn");
    functor_ = AnyConfig::of(std::move(functor));
  }
  /// `name` as given to AXLE_REGISTER(function, "name").
  Fn(std::string name, R (*function)(A...)) {
    name_ = std::move(name);
    plain_ = reinterpret_cast<AnyFunction>(function);
  }

  /// Throws ConfigError where nothing is held.
  R operator()(A... args) const {
    if (plain_) return reinterpret_cast<R (*)(A...)>(plain_)(std::forward<A>(args)...);
    if (!functor_) detail::fail_empty_fn(typeid(R(A...)));
    const auto call = reinterpret_cast<R (*)(const void*, A...)>(functor_.type().call);
    return call(functor_.get(), std::forward<A>(args)...);
  }
};

}  // namespace axle
