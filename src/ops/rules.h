// Type inference, evaluation and checks shared by the rules of several op families.
#pragma once

#include <cmath>
#include <memory>

#include "ir/hlo_builder.h"
#include "ir/op_rules.h"

namespace axle {

/// Infer rule: all operands and the result have one type.
std::vector<Type> same_type(const OpNode& op);
/// same_type for real numbers: all dtypes but predicates and complex ones.
std::vector<Type> same_type_numbers(const OpNode& op);
/// Throws ShapeError unless the first operand holds real numbers.
void check_numbers(const OpNode& op);
/// same_type for real and complex numbers.
std::vector<Type> same_type_real_or_complex(const OpNode& op);
/// Throws ShapeError unless the first operand holds real or complex numbers.
void check_real_or_complex(const OpNode& op);
/// Throws ShapeError if the first operand is complex.
void check_ordered(const OpNode& op);
/// same_type for dtypes whose values have an order: all but complex numbers.
std::vector<Type> same_ordered_type(const OpNode& op);
/// same_type for floating-point dtypes only.
std::vector<Type> same_float_type(const OpNode& op);
/// same_type for integer dtypes only.
std::vector<Type> same_integer_type(const OpNode& op);
/// same_type for integers and predicates only.
std::vector<Type> same_integer_or_pred_type(const OpNode& op);
/// Infer rule: operands of one type give a predicate of their shape.
std::vector<Type> pred_of_same_shape(const OpNode& op);
/// pred_of_same_shape for dtypes whose values have an order.
std::vector<Type> pred_of_ordered(const OpNode& op);

/// Returns `axis` counted from the front. Throws ShapeError, naming `op`, if x has no such dim.
int64_t normalized_axis(std::string_view op, const Tensor& x, int64_t axis);
/// normalized_axis of several axes, in ascending order. Throws ShapeError if an axis occurs twice.
std::vector<int64_t> normalized_axes(std::string_view op, const Tensor& x,
                                     std::vector<int64_t> axes);

/// The identity of a sum, which is its value over no elements: 0.
double zero_value(DType dtype);
/// The identity of a maximum: -inf, or the least number of a dtype without infinity. For integers
/// it saturates to their least number.
double lowest_value(DType dtype);
/// The identity of a minimum, likewise.
double highest_value(DType dtype);

namespace detail {
/// The element type of the result of an elementwise op on elements of type T that computes R: R for
/// predicates and for functions between real and complex numbers, else T.
template <class T, class R>
using ResultElement =
    std::conditional_t<std::is_same_v<R, bool> || kIsComplex<R> != kIsComplex<T>, R, T>;
/// Sets y[i] = f(x[i]), computed in the type Computed<T> of the dtype of x. Does nothing if f does
/// not take this type: the infer rule has refused it.
template <class F>
void map_unary(const HostTensor& x, HostTensor& y, F f) {
  dispatch_any(x.dtype(), [&]<class T>(std::type_identity<T>) {
    using C = Computed<T>;
    if constexpr (std::is_invocable_v<F, C>) {
      using R = std::invoke_result_t<F, C>;
      using U = ResultElement<T, R>;
      const auto in = x.values<T>();
      const auto out = y.values<U>();
      for (size_t i = 0; i < in.size(); ++i)
        out[i] = convert_element<U>(f(convert_element<C>(in[i])));
    }
  });
}
template <class F>
void map_binary(const HostTensor& a, const HostTensor& b, HostTensor& y, F f) {
  dispatch_any(a.dtype(), [&]<class T>(std::type_identity<T>) {
    using C = Computed<T>;
    if constexpr (std::is_invocable_v<F, C, C>) {
      using R = std::invoke_result_t<F, C, C>;
      using U = ResultElement<T, R>;
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
template <class T>
concept Ordered = !kIsComplex<T>;
template <class T>
concept RealOrComplex = Number<T> || kIsComplex<T>;
/// Returns f(a, b). Integers are computed as unsigned numbers, so that they wrap on overflow.
template <RealOrComplex T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (Integer<T>) {
    // At least 32 bits: C++ computes narrower numbers as signed ones, which must not overflow.
    using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}
/// The type in which the interpreter sums: doubles for floats, pairs of doubles for complex
/// numbers.
template <class T>
using Accumulator =
    std::conditional_t<std::is_integral_v<Computed<T>>, Computed<T>,
                       std::conditional_t<kIsComplex<T>, std::complex<double>, double>>;
/// The maximum and minimum of IEEE 754: NaN if either operand is NaN; 0 is larger than -0.
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

/// Returns the eval rule y[i] = f(x[i]). f takes the type Computed<T> of the dtype: small floats
/// are computed in f32. If f is defined for some dtypes only, `requires` constrains it.
template <class F>
EvalRule unary(F f) {
  return [f](const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
             std::span<HostTensor> y) { detail::map_unary(*x[0], y[0], f); };
}
/// Returns the eval rule y[i] = f(a[i], b[i]).
template <class F>
EvalRule binary(F f) {
  return [f](const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
             std::span<HostTensor> y) { detail::map_binary(*x[0], *x[1], y[0], f); };
}
/// Eval rule y = x, for ops that only annotate.
void eval_identity(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                   std::span<HostTensor> y);

/// Cost rule: one operation for each element of the first operand.
double num_input_elements(const OpNode& op);

/// Lowering rule that writes no op: the results are the operands.
HloValues hlo_identity(const OpNode&, HloBuilder&, const HloValues& x);

/// Returns x in the dtype that its elements are summed in (wide_dtype).
Tensor wide(const Tensor& x);

/// Attributes of ops that work along one axis.
struct AxisAttributes : Attributes {
  explicit AxisAttributes(int64_t a) : axis(a) {}
  int64_t axis;
  std::string text() const override { return "axis = " + std::to_string(axis); }
};

/// Copies an attribute struct to a shared pointer, so that nodes can share it.
template <std::derived_from<Attributes> A>
std::shared_ptr<const Attributes> make_attributes(A a) {
  return std::make_shared<const A>(std::move(a));
}

}  // namespace axle
