#include "ops/elementwise/bitwise.h"

#include <bit>

#include "ops/batching.h"
#include "ops/create.h"
#include "ops/movement/broadcast.h"
#include "ops/rules.h"

namespace axle {
namespace {

template <class T>
concept Bits = std::is_integral_v<T>;
using detail::Integer;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

// True if C++ does not define the shift: by the width or more. Negative shifts count as huge.
template <class T>
bool too_far(T bits) {
  return static_cast<Unsigned<T>>(bits) >= std::numeric_limits<Unsigned<T>>::digits;
}

OpRow bits_row(std::string_view name, InferRule infer, EvalRule eval, HloRule hlo) {
  return {.name = name,
          .infer = infer,
          .batch = elementwise,
          .vjp = no_gradient,
          .eval = std::move(eval),
          .hlo = hlo,
          .cost = kElementwise};
}

const OpRules and_rules(bits_row("and", same_integer_or_pred_type,
                                 binary([]<Bits T>(T a, T b) { return static_cast<T>(a & b); }),
                                 "stablehlo.and"));
const OpRules or_rules(bits_row("or", same_integer_or_pred_type,
                                binary([]<Bits T>(T a, T b) { return static_cast<T>(a | b); }),
                                "stablehlo.or"));
const OpRules xor_rules(bits_row("xor", same_integer_or_pred_type,
                                 binary([]<Bits T>(T a, T b) { return static_cast<T>(a ^ b); }),
                                 "stablehlo.xor"));
const OpRules not_rules(bits_row("not", same_integer_or_pred_type, unary([]<Bits T>(T a) {
                                   if constexpr (std::is_same_v<T, bool>)
                                     return !a;
                                   else
                                     return static_cast<T>(~a);
                                 }),
                                 "stablehlo.not"));

template <class T>
T shifted_left(T a, T n) {
  return too_far(n) ? T(0) : static_cast<T>(static_cast<Unsigned<T>>(a) << n);
}
template <class T>
T shifted_right(T a, T n) {
  return too_far(n) ? T(0) : static_cast<T>(static_cast<Unsigned<T>>(a) >> n);
}
// Arithmetic right shift: copies of the sign bit enter from the left.
template <class T>
T shifted_right_signed(T a, T n) {
  const auto s = static_cast<std::make_signed_t<T>>(a);
  return static_cast<T>(too_far(n) ? (s < 0 ? -1 : 0) : s >> n);
}

const OpRules shift_left_rules(bits_row(
    "shift_left", same_integer_type, binary([]<Integer T>(T a, T n) { return shifted_left(a, n); }),
    "stablehlo.shift_left"));
const OpRules shift_right_logical_rules(bits_row("shift_right_logical", same_integer_type,
                                                 binary([]<Integer T>(T a, T n) {
                                                   return shifted_right(a, n);
                                                 }),
                                                 "stablehlo.shift_right_logical"));
const OpRules shift_right_arithmetic_rules(bits_row("shift_right_arithmetic", same_integer_type,
                                                    binary([]<Integer T>(T a, T n) {
                                                      return shifted_right_signed(a, n);
                                                    }),
                                                    "stablehlo.shift_right_arithmetic"));

const OpRules popcount_rules(bits_row("popcount", same_integer_type, unary([]<Integer T>(T a) {
                                        return static_cast<T>(
                                            std::popcount(static_cast<Unsigned<T>>(a)));
                                      }),
                                      "stablehlo.popcnt"));
const OpRules count_leading_zeros_rules(
    bits_row("count_leading_zeros", same_integer_type, unary([]<Integer T>(T a) {
               return static_cast<T>(std::countl_zero(static_cast<Unsigned<T>>(a)));
             }),
             "stablehlo.count_leading_zeros"));

}  // namespace

Tensor operator&(const Tensor& a, const Tensor& b) { return emit_broadcast(and_rules, a, b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return emit_broadcast(or_rules, a, b); }
Tensor operator^(const Tensor& a, const Tensor& b) { return emit_broadcast(xor_rules, a, b); }
Tensor operator~(const Tensor& x) { return emit(not_rules, {x}); }
Tensor operator!(const Tensor& x) {
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
Tensor operator<<(const Tensor& a, int bits) { return shift_left(a, full_like(a, bits)); }
Tensor operator>>(const Tensor& a, int bits) {
  const Tensor n = full_like(a, bits);
  return is_unsigned(a.dtype()) ? shift_right_logical(a, n) : shift_right_arithmetic(a, n);
}
Tensor popcount(const Tensor& x) { return emit(popcount_rules, {x}); }
Tensor count_leading_zeros(const Tensor& x) { return emit(count_leading_zeros_rules, {x}); }

}  // namespace axle
