// Building blocks for op rows: inference and evaluation shared by families.
#pragma once

#include <cmath>
#include <memory>

#include "ir/hlo_builder.h"
#include "ir/op_rules.h"

namespace axle {

/// Results: all operands have one type, and so has the result.
std::vector<Type> same_type(const OpNode& op);
/// same_type, of a floating-point dtype.
std::vector<Type> same_shape_float(const OpNode& op);
/// same_type of an integer dtype.
std::vector<Type> same_shape_integer(const OpNode& op);
/// same_type, of integers or predicates.
std::vector<Type> same_shape_bits(const OpNode& op);
/// Operands of one type give a predicate of their shape.
std::vector<Type> same_shape_pred(const OpNode& op);

/// `axis` counted from the front. Throws ShapeError, naming `op`, if x has no such dim.
int64_t normalized_axis(std::string_view op, const Tensor& x, int64_t axis);
/// The same for several axes: ascending. Throws ShapeError also if one comes twice.
std::vector<int64_t> normalized_axes(std::string_view op, const Tensor& x,
                                     std::vector<int64_t> axes);
/// shape_error for checks made before the op is emitted.
[[noreturn]] void operand_error(std::string_view op, std::string_view what, const Values& operands);

/// Batching rule of elementwise ops (arrives with vmap).
inline constexpr BatchRule elementwise = nullptr;

namespace detail {
/// Calls fn(span<const T> x..., span<U> y) with the C++ types of the operands' common dtype and of
/// the result.
template <class F>
void map_unary(const HostTensor& x, HostTensor& y, F f) {
  dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
    using C = std::conditional_t<std::is_same_v<T, BF16>, float, T>;
    if constexpr (std::is_invocable_v<F, C>) {
      using R = std::invoke_result_t<F, C>;
      using U = std::conditional_t<std::is_same_v<R, bool>, bool, T>;
      const auto in = x.values<T>();
      const auto out = y.values<U>();
      for (size_t i = 0; i < in.size(); ++i)
        out[i] = convert_element<U>(f(convert_element<C>(in[i])));
    }
  });
}
template <class F>
void map_binary(const HostTensor& a, const HostTensor& b, HostTensor& y, F f) {
  dispatch(a.dtype(), [&]<class T>(std::type_identity<T>) {
    using C = std::conditional_t<std::is_same_v<T, BF16>, float, T>;
    if constexpr (std::is_invocable_v<F, C, C>) {
      using R = std::invoke_result_t<F, C, C>;
      using U = std::conditional_t<std::is_same_v<R, bool>, bool, T>;
      const auto p = a.values<T>(), q = b.values<T>();
      const auto out = y.values<U>();
      for (size_t i = 0; i < p.size(); ++i) {
        out[i] = convert_element<U>(f(convert_element<C>(p[i]), convert_element<C>(q[i])));
      }
    }
  });
}
template <class T>
concept Float = std::is_floating_point_v<T>;
template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
concept Number = Float<T> || Integer<T>;
/// f(a, b); integers compute unsigned and so wrap on overflow, as two's complement hardware does.
template <Number T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (Integer<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}
/// The maximum and minimum of IEEE 754: NaN if either is, 0 is larger than -0.
template <class T>
T larger(T a, T b) {
  if (a != a || b != b) return a != a ? a : b;
  if constexpr (Float<T>) {
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}
template <class T>
T smaller(T a, T b) {
  if (a != a || b != b) return a != a ? a : b;
  if constexpr (Float<T>) {
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}
}  // namespace detail

/// Evaluates y[i] = f(x[i]); f takes the C++ type of the dtype (bf16 computes in f32), constrained
/// by `requires` in the row where it is defined for some dtypes alone.
template <class F>
EvalRule unary(F f) {
  return [f](const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
             std::span<HostTensor> y) { detail::map_unary(*x[0], y[0], f); };
}
/// Evaluates y[i] = f(a[i], b[i]).
template <class F>
EvalRule binary(F f) {
  return [f](const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
             std::span<HostTensor> y) { detail::map_binary(*x[0], *x[1], y[0], f); };
}
/// Evaluates y = x, for ops that only annotate.
void eval_identity(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                   std::span<HostTensor> y);

/// Lowers to nothing: the results are the operands.
HloValues hlo_identity(const OpNode&, HloBuilder&, const HloValues& x);

/// For ops that work along one axis.
struct AxisAttributes : Attributes {
  explicit AxisAttributes(int64_t a) : axis(a) {}
  int64_t axis;
  std::string text() const override { return "axis = " + std::to_string(axis); }
};

/// For attribute structs: a copy shared by nodes.
template <std::derived_from<Attributes> A>
std::shared_ptr<const Attributes> make_attributes(A a) {
  return std::make_shared<const A>(std::move(a));
}

}  // namespace axle
