// Type inference, evaluation and checks shared by the rules of several op families.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ir/eval.h"
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
/// Infer rule: operands of one type yield a predicate of their shape.
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

/// For ops that are monotone in each operand, such as x - y: the extremes lie where each operand is
/// at a bound.
ValueRange range_at_bounds(const OpNode& op, std::span<const ValueRange> x);
/// The same for ops that combine predicates or the bits of integers. Knows nothing of bits.
ValueRange range_of_predicates(const OpNode& op, std::span<const ValueRange> x);
/// A quotient, unless the divisor may be zero.
ValueRange range_of_quotient(const OpNode& op, std::span<const ValueRange> x);
/// A remainder of integers, whose sign is that of the dividend.
ValueRange range_of_remainder(const OpNode& op, std::span<const ValueRange> x);
ValueRange range_of_magnitude(const OpNode& op, std::span<const ValueRange> x);
ValueRange range_of_equal(const OpNode& op, std::span<const ValueRange> x);
ValueRange range_of_unequal(const OpNode& op, std::span<const ValueRange> x);
ValueRange range_of_choice(const OpNode& op, std::span<const ValueRange> x);

// Batching rules of op families, and helpers of the rules of single ops.
//
// A rule emits its op once more, with a leading dim for the batch. Attributes that count dims are
// shifted by one:
//   .batch = [](BatchX x) {
//     return emit_batched(x, AxisAttributes(x.attrs<AxisAttributes>().axis + 1));
//   }

/// Returns operand i with the batch dim. Repeats it along that dim if it is not batched.
Tensor with_batch_dim(BatchX x, size_t i);
/// with_batch_dim of all operands.
Values with_batch_dims(BatchX x);
/// Marks all results as batched.
std::vector<Batched> all_batched(const Values& results);
/// Emits the op of `x` over the operands with_batch_dims, with other attributes.
std::vector<Batched> emit_batched(BatchX x, std::shared_ptr<const Attributes> attributes);
template <std::derived_from<Attributes> A>
std::vector<Batched> emit_batched(BatchX x, A attributes) {
  return emit_batched(x, std::make_shared<const A>(std::move(attributes)));
}

/// Returns each axis plus one.
std::vector<int64_t> shifted(std::vector<int64_t> axes);
/// Returns the list with `first` put before it.
std::vector<int64_t> prepended(int64_t first, std::vector<int64_t> rest);

/// Returns `a` for the examples where is_chosen[batch] is true, else `b`. Both have the batch dim.
Tensor select_examples(const Tensor& is_chosen, const Tensor& a, const Tensor& b);

/// Batching rule of elementwise ops. An operand that is a scalar while another is not stays a
/// scalar if it is not batched.
std::vector<Batched> elementwise(BatchX x);
/// Batching rule of ops that work on trailing dims, for any dims before them.
std::vector<Batched> trailing_dims(BatchX x);
/// Batching rule of ops that pass each operand on: result i is batched if operand i is.
std::vector<Batched> each_operand(BatchX x);
/// Batching rule of ops with AxisAttributes whose operands have the same dims.
std::vector<Batched> along_axis(BatchX x);
/// For ops without operands: `.batch = no_operands`. It is never called.
inline constexpr BatchRule no_operands = [](BatchX) { return std::vector<Batched>(); };

// Composite ops: ops that are defined by other ops but have their own derivative, so that fewer
// values are kept for the backward pass.
//
// The formula of a composite op is a plain function over tensors. The interpreter and the lowering
// trace it each time:
//   Values silu_formula(const OpNode&, const Values& x) { return {x[0] * logistic(x[0])}; }
//   const OpRules silu_rules({...,
//                             .eval = eval_composite<silu_formula>,
//                             .hlo = hlo_composite<silu_formula>,
//                             ...});

/// Computes the results of `op` by other ops; x are the operands.
using CompositeFormula = Values (*)(const OpNode& op, const Values& x);

/// Traces `body` into a region with these parameters, with the layer path and phase of `op`.
std::unique_ptr<Region> trace_part(const OpNode& op, const std::vector<Type>& parameters,
                                   const std::function<Values(const Values&)>& body);
/// Traces the formula of `op` into a region, with the layer path and phase of `op`.
std::unique_ptr<Region> trace_formula(const OpNode& op, CompositeFormula formula);

template <CompositeFormula kFormula>
void eval_composite(const EvalOptions& options, const OpNode& op,
                    std::span<const HostTensor* const> x, std::span<HostTensor> y) {
  std::ranges::move(evaluate_borrowing(*trace_formula(op, kFormula), x, options), y.begin());
}

template <CompositeFormula kFormula>
HloValues hlo_composite(const OpNode& op, HloBuilder& b, const HloValues& x) {
  return b.inline_region(*trace_formula(op, kFormula), x);
}

/// Writes a constant of the type of x whose elements are all `value`.
HloValue hlo_splat_like(HloBuilder& b, const HloValue& x, Scalar value);
/// Writes "stablehlo.<name>" for an elementwise op: the result has the type of x[0].
HloValue hlo_map(HloBuilder& b, std::string_view name, const HloValues& x);
enum class Order { kPartial, kTotal };
/// Compares x and y. `direction` is EQ, NE, LT, LE, GT or GE. In the total order of floats,
/// -NaN < -inf < -0 < 0 < inf < NaN.
HloValue hlo_compare(HloBuilder& b, std::string_view direction, const HloValue& x,
                     const HloValue& y, Order order = Order::kPartial);
HloValue hlo_select(HloBuilder& b, const HloValue& p, const HloValue& x, const HloValue& y);
/// Broadcasts x to `shape`; dim i of x becomes dim dims[i].
HloValue hlo_broadcast(HloBuilder& b, const HloValue& x, const Shape& shape,
                       const std::vector<int64_t>& dims);
/// Returns the region that combines two scalars of a dtype by "stablehlo.<name>".
HloRegion hlo_combiner(HloBuilder& b, std::string_view name, DType dtype);
/// Reduces `dims` by "stablehlo.<name>", starting from `init`. `dims` are ascending.
HloValue hlo_reduce(HloBuilder& b, std::string_view name, const HloValue& x, Scalar init,
                    const std::vector<int64_t>& dims);
/// Sorts the operands together along `axis`; the sort is stable. The first `num_keys` operands are
/// the keys, compared by `direction` (LT or GT) with -0 = 0 and NaN above all other values.
HloValues hlo_sort(HloBuilder& b, const HloValues& x, int64_t axis, size_t num_keys,
                   std::string_view direction);

/// Converts i4 to i8 and u4 to u8. XLA's CPU compiler computes 4-bit integers in bytes and does not
/// wrap a sum before it converts that to a byte, so the byte is wrapped here.
HloValue hlo_byte_of(HloBuilder& b, const HloValue& x);

}  // namespace axle
