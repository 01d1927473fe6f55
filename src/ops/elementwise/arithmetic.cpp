#include <fmt/format.h>

#include <bit>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/rules.h"

namespace axle {
namespace {

using detail::Float;
using detail::Integer;
using detail::Number;
using detail::RealOrComplex;
using detail::wrapping;

// Returns the share of the gradient of y that goes to x: 1 where only x equals y, 1/2 where both
// operands equal y, else 0.
Tensor gradient_fraction(const Tensor& x, const Tensor& y, const Tensor& other) {
  return astype(equal(x, y), x.dtype()) / select(equal(other, y), full_like(x, 2), full_like(x, 1));
}

// The vjp of max and min.
Values extremum_vjp(X x, Y y, Ct g) {
  return {g[0] * gradient_fraction(x[0], y[0], x[1]), g[0] * gradient_fraction(x[1], y[0], x[0])};
}

const OpRules neg_rules({.name = "neg",
                         .infer = same_type_real_or_complex,
                         .batch = elementwise,
                         .vjp = [](X, Y, Ct g) { return Values{-g[0]}; },
                         .range = range_at_bounds,
                         .eval = unary([](RealOrComplex auto x) {
                           return static_cast<decltype(x)>(-x);
                         }),
                         .hlo = "stablehlo.negate",
                         .cost = kElementwise});

const OpRules add_rules({.name = "add",
                         .infer = same_type_real_or_complex,
                         .batch = elementwise,
                         .vjp =
                             [](X, Y, Ct g) {
                               return Values{g[0], g[0]};
                             },
                         .range = range_at_bounds,
                         .eval = binary([]<RealOrComplex T>(T a, T b) {
                           return wrapping(a, b, [](auto p, auto q) { return p + q; });
                         }),
                         .hlo = "stablehlo.add",
                         .cost = kElementwise});

const OpRules sub_rules({.name = "sub",
                         .infer = same_type_real_or_complex,
                         .batch = elementwise,
                         .vjp =
                             [](X, Y, Ct g) {
                               return Values{g[0], -g[0]};
                             },
                         .range = range_at_bounds,
                         .eval = binary([]<RealOrComplex T>(T a, T b) {
                           return wrapping(a, b, [](auto p, auto q) { return p - q; });
                         }),
                         .hlo = "stablehlo.subtract",
                         .cost = kElementwise});

const OpRules mul_rules({.name = "mul",
                         .infer = same_type_real_or_complex,
                         .batch = elementwise,
                         .vjp =
                             [](X x, Y, Ct g) {
                               return Values{g[0] * x[1], x[0] * g[0]};
                             },
                         .range = range_at_bounds,
                         .eval = binary([]<RealOrComplex T>(T a, T b) {
                           return wrapping(a, b, [](auto p, auto q) { return p * q; });
                         }),
                         .hlo = "stablehlo.multiply",
                         .cost = kElementwise});

const OpRules div_rules({.name = "div",
                         .infer = same_type_real_or_complex,
                         .batch = elementwise,
                         .vjp =
                             [](X x, Y, Ct g) {
                               return Values{g[0] / x[1], ((-g[0]) * x[0]) / (x[1] * x[1])};
                             },
                         // Integers follow XLA: x / 0 = -1, min / -1 = min.
                         .range = range_of_quotient,
                         .eval = binary([]<RealOrComplex T>(T a, T b) -> T {
                           if constexpr (Integer<T>) {
                             if (b == 0) return static_cast<T>(-1);
                             if (std::is_signed_v<T> && b == static_cast<T>(-1))
                               return static_cast<T>(-std::make_unsigned_t<T>(a));
                           }
                           return a / b;
                         }),
                         .hlo = "stablehlo.divide",
                         .cost = kElementwise});

const OpRules rem_rules({.name = "rem",
                         .infer = same_type_numbers,
                         .batch = elementwise,
                         .vjp =
                             [](X x, Y, Ct g) {
                               const Tensor ratio = x[0] / x[1];
                               return Values{g[0], -g[0] * (sign(ratio) * floor(abs(ratio)))};
                             },
                         .range = range_of_remainder,
                         .eval = binary([]<Number T>(T a, T b) -> T {
                           if constexpr (Float<T>)
                             return std::fmod(a, b);
                           else if (b == 0)
                             return a;
                           else if (std::is_signed_v<T> && b == static_cast<T>(-1))
                             return 0;
                           else
                             return a % b;
                         }),
                         .hlo = "stablehlo.remainder",
                         .cost = kElementwise});

const OpRules max_rules({.name = "max",
                         .infer = same_ordered_type,
                         .batch = elementwise,
                         .vjp = extremum_vjp,
                         .range = range_at_bounds,
                         .eval = binary([]<detail::Ordered T>(T a, T b) {
                           return detail::larger(a, b);
                         }),
                         .hlo = "stablehlo.maximum",
                         .cost = kElementwise});

const OpRules min_rules({.name = "min",
                         .infer = same_ordered_type,
                         .batch = elementwise,
                         .vjp = extremum_vjp,
                         .range = range_at_bounds,
                         .eval = binary([]<detail::Ordered T>(T a, T b) {
                           return detail::smaller(a, b);
                         }),
                         .hlo = "stablehlo.minimum",
                         .cost = kElementwise});

}  // namespace

Tensor operator-(const Tensor& x) { return emit(neg_rules, {x}); }
Tensor operator+(const Tensor& a, const Tensor& b) { return emit_broadcast(add_rules, a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return emit_broadcast(sub_rules, a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return emit_broadcast(mul_rules, a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return emit_broadcast(div_rules, a, b); }
Tensor operator+(const Tensor& a, Scalar b) { return emit_with_number(add_rules, a, b); }
Tensor operator-(const Tensor& a, Scalar b) { return emit_with_number(sub_rules, a, b); }
Tensor operator*(const Tensor& a, Scalar b) { return emit_with_number(mul_rules, a, b); }
Tensor operator/(const Tensor& a, Scalar b) { return emit_with_number(div_rules, a, b); }
Tensor operator+(Scalar a, const Tensor& b) { return emit_with_number(add_rules, a, b); }
Tensor operator-(Scalar a, const Tensor& b) { return emit_with_number(sub_rules, a, b); }
Tensor operator*(Scalar a, const Tensor& b) { return emit_with_number(mul_rules, a, b); }
Tensor operator/(Scalar a, const Tensor& b) { return emit_with_number(div_rules, a, b); }
Tensor remainder(const Tensor& a, const Tensor& b) { return emit_broadcast(rem_rules, a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return emit_broadcast(max_rules, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return emit_broadcast(min_rules, a, b); }
Tensor maximum(const Tensor& a, Scalar b) { return emit_with_number(max_rules, a, b); }
Tensor minimum(const Tensor& a, Scalar b) { return emit_with_number(min_rules, a, b); }

namespace {

template <class T>
concept Bits = std::is_integral_v<T>;
using detail::Integer;

OpRow bits_row(std::string_view name, InferRule infer, EvalRule eval, HloRule hlo,
               RangeRule range = nullptr) {
  return {.name = name,
          .infer = infer,
          .batch = elementwise,
          .vjp = no_gradient,
          .range = range,
          .eval = std::move(eval),
          .hlo = hlo,
          .cost = kElementwise};
}

const OpRules and_rules(bits_row("and", same_integer_or_pred_type,
                                 binary([]<Bits T>(T a, T b) { return static_cast<T>(a & b); }),
                                 "stablehlo.and", range_of_predicates));
const OpRules or_rules(bits_row("or", same_integer_or_pred_type,
                                binary([]<Bits T>(T a, T b) { return static_cast<T>(a | b); }),
                                "stablehlo.or", range_of_predicates));
const OpRules xor_rules(bits_row("xor", same_integer_or_pred_type,
                                 binary([]<Bits T>(T a, T b) { return static_cast<T>(a ^ b); }),
                                 "stablehlo.xor"));
const OpRules not_rules(bits_row("not", same_integer_or_pred_type, unary([]<Bits T>(T a) {
                                   if constexpr (std::is_same_v<T, bool>)
                                     return !a;
                                   else
                                     return static_cast<T>(~a);
                                 }),
                                 "stablehlo.not", range_of_predicates));

// An integer of `width` bits, the low ones of a word.
struct Word {
  uint64_t bits;
  int width;
  bool is_negative() const { return bits >> (width - 1) & 1; }
};

// Returns the eval rule that computes the words y[i] = f(a[i], b[i]); b is the last operand.
template <class F>
EvalRule words(F f) {
  return [f](const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
             std::span<HostTensor> y) {
    dispatch(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
      using C = Computed<T>;
      if constexpr (Integer<C>) {
        constexpr int kWidth = std::is_same_v<T, C> ? 8 * sizeof(T) : 4;
        const auto word = [](T v) {
          constexpr auto kBits = ~uint64_t{0} >> (64 - kWidth);
          return Word{static_cast<uint64_t>(static_cast<C>(v)) & kBits, kWidth};
        };
        const auto a = x[0]->values<T>(), b = x.back()->values<T>();
        const auto out = y[0].values<T>();
        for (size_t i = 0; i < out.size(); ++i)
          out[i] = convert_element<T>(static_cast<C>(f(word(a[i]), word(b[i]))));
      }
    });
  };
}

// C++ does not define shifts by the width or more. Negative ones count as huge.
bool too_far(Word n) { return n.bits >= static_cast<uint64_t>(n.width); }
uint64_t shifted_left(Word a, Word n) { return too_far(n) ? 0 : a.bits << n.bits; }
uint64_t shifted_right(Word a, Word n) { return too_far(n) ? 0 : a.bits >> n.bits; }
// Copies of the sign bit enter from the left.
uint64_t shifted_right_signed(Word a, Word n) {
  const uint64_t sign = a.is_negative() ? ~uint64_t{0} : 0;
  if (too_far(n)) return sign;
  return n.bits == 0 ? a.bits
                     : a.bits >> n.bits | sign << (static_cast<uint64_t>(a.width) - n.bits);
}

const OpRules shift_left_rules(bits_row("shift_left", same_integer_type, words(shifted_left),
                                        "stablehlo.shift_left"));
const OpRules shift_right_logical_rules(bits_row("shift_right_logical", same_integer_type,
                                                 words(shifted_right),
                                                 "stablehlo.shift_right_logical"));
const OpRules shift_right_arithmetic_rules(bits_row("shift_right_arithmetic", same_integer_type,
                                                    words(shifted_right_signed),
                                                    "stablehlo.shift_right_arithmetic"));

// XLA's CPU compiler counts the bits of i4 in a byte, with copies of the sign.
HloValues lower_popcount(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const Type& type = op.outputs[0];
  if (type.dtype != DType::kI4) return {hlo_map(b, "popcnt", x)};
  const Type bits{DType::kU4, type.dims};
  const HloValue word = b.one("stablehlo.bitcast_convert", x, bits);
  return {b.one("stablehlo.bitcast_convert", {hlo_map(b, "popcnt", {word})}, type)};
}

const OpRules popcount_rules(bits_row("popcount", same_integer_type, words([](Word a, Word) {
                                        return static_cast<uint64_t>(std::popcount(a.bits));
                                      }),
                                      lower_popcount));
const OpRules count_leading_zeros_rules(bits_row("count_leading_zeros", same_integer_type,
                                                 words([](Word a, Word) {
                                                   return static_cast<uint64_t>(
                                                       std::countl_zero(a.bits) - (64 - a.width));
                                                 }),
                                                 "stablehlo.count_leading_zeros"));

}  // namespace

Tensor operator&(const Tensor& a, const Tensor& b) { return emit_broadcast(and_rules, a, b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return emit_broadcast(or_rules, a, b); }
Tensor operator^(const Tensor& a, const Tensor& b) { return emit_broadcast(xor_rules, a, b); }
Tensor operator~(const Tensor& x) { return emit(not_rules, {x}); }
Tensor logical_not(const Tensor& x) {
  if (x.dtype() != DType::kPred)
    shape_error("not", "expected a predicate; ~ complements the bits of integers", {x});
  return emit(not_rules, {x});
}
Tensor shift_left(const Tensor& a, const Tensor& bits) {
  return emit_broadcast(shift_left_rules, a, bits);
}
Tensor shift_right_logical(const Tensor& a, const Tensor& bits) {
  return emit_broadcast(shift_right_logical_rules, a, bits);
}
Tensor shift_right_arithmetic(const Tensor& a, const Tensor& bits) {
  return emit_broadcast(shift_right_arithmetic_rules, a, bits);
}
Tensor operator<<(const Tensor& a, int bits) { return emit_with_number(shift_left_rules, a, bits); }
Tensor operator>>(const Tensor& a, int bits) {
  return emit_with_number(
      is_unsigned(a.dtype()) ? shift_right_logical_rules : shift_right_arithmetic_rules, a, bits);
}
Tensor popcount(const Tensor& x) { return emit(popcount_rules, {x}); }
Tensor count_leading_zeros(const Tensor& x) { return emit(count_leading_zeros_rules, {x}); }

}  // namespace axle
