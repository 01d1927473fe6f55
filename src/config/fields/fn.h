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

[[noreturn]] void fail_empty_fn(const std::type_info& signature);
}  // namespace detail

/// The part of Fn<Sig> that does not depend on the signature.
class FnSlot {
 public:
  explicit operator bool() const { return plain_ || functor_; }
  /// Returns the name of the function or of the functor's struct; "" if the slot is empty.
  std::string name() const { return functor_ ? std::string(functor_.type().name) : name_; }
  /// Returns the functor, which is empty for a named function.
  const AnyConfig& functor() const { return functor_; }
  AnyConfig& functor() { return functor_; }

  /// Sets the functor; for generic code, which passes the signature of the slot. Throws ConfigError
  /// if the functor has another signature.
  void put_as(const std::type_info& signature, AnyConfig functor);
  /// Sets a named function that was found by `name` under the slot's signature.
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
/// &silu}`. The struct of a functor carries AXLE_CONFIG and has exactly this signature, so that
/// YAML can name it.
template <class R, class... A>
class Fn<R(A...)> : public FnSlot {
 public:
  /// Makes an empty slot, which counts as an unset REQUIRED field.
  Fn() = default;
  template <Configures F>
  Fn(F functor) {
    static_assert(std::is_same_v<typename detail::FunctorSignature<F>::type, R(A...)>,
                  "the functor's operator() const must have exactly the signature of the Fn");
    functor_ = AnyConfig::of(std::move(functor));
  }
  /// `name` is the one given to AXLE_REGISTER(function, "name").
  Fn(std::string name, R (*function)(A...)) {
    name_ = std::move(name);
    plain_ = reinterpret_cast<AnyFunction>(function);
  }

  /// Throws ConfigError if the slot is empty.
  R operator()(A... args) const {
    if (plain_) return reinterpret_cast<R (*)(A...)>(plain_)(std::forward<A>(args)...);
    if (!functor_) detail::fail_empty_fn(typeid(R(A...)));
    const auto call = reinterpret_cast<R (*)(const void*, A...)>(functor_.type().call);
    return call(functor_.get(), std::forward<A>(args)...);
  }
};

}  // namespace axle
