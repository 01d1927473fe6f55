#include "ops/bitwise.h"

#include <bit>

#include "ops/broadcast.h"
#include "ops/create.h"
#include "ops/rules.h"

namespace axle {
namespace {

template <class T>
concept Bits = std::is_integral_v<T>;
using detail::Integer;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

// A shift by the width or more (a negative one counts as huge) is not defined in C++.
template <class T>
bool too_far(T bits) {
  return static_cast<Unsigned<T>>(bits) >= std::numeric_limits<Unsigned<T>>::digits;
}

const OpRules and_rules({.name = "and",
                         .infer = same_shape_bits,
                         .batch = elementwise,
                         .vjp = no_gradient,
                         .eval = binary([]<Bits T>(T a, T b) { return static_cast<T>(a & b); }),
                         .hlo = "stablehlo.and",
                         .cost = kElementwise});
const OpRules or_rules({.name = "or",
                        .infer = same_shape_bits,
                        .batch = elementwise,
                        .vjp = no_gradient,
                        .eval = binary([]<Bits T>(T a, T b) { return static_cast<T>(a | b); }),
                        .hlo = "stablehlo.or",
                        .cost = kElementwise});
const OpRules xor_rules({.name = "xor",
                         .infer = same_shape_bits,
                         .batch = elementwise,
                         .vjp = no_gradient,
                         .eval = binary([]<Bits T>(T a, T b) { return static_cast<T>(a ^ b); }),
                         .hlo = "stablehlo.xor",
                         .cost = kElementwise});
const OpRules not_rules({.name = "not",
                         .infer = same_shape_bits,
                         .batch = elementwise,
                         .vjp = no_gradient,
                         .eval = unary([]<Bits T>(T a) {
                           if constexpr (std::is_same_v<T, bool>)
                             return !a;
                           else
                             return static_cast<T>(~a);
                         }),
                         .hlo = "stablehlo.not",
                         .cost = kElementwise});

const OpRules shift_left_rules({.name = "shift_left",
                                .infer = same_shape_integer,
                                .batch = elementwise,
                                .vjp = no_gradient,
                                .eval = binary([]<Integer T>(T a, T n) {
                                  return too_far(n)
                                             ? T(0)
                                             : static_cast<T>(static_cast<Unsigned<T>>(a) << n);
                                }),
                                .hlo = "stablehlo.shift_left",
                                .cost = kElementwise});
const OpRules shift_right_logical_rules({.name = "shift_right_logical",
                                         .infer = same_shape_integer,
                                         .batch = elementwise,
                                         .vjp = no_gradient,
                                         .eval = binary([]<Integer T>(T a, T n) {
                                           return too_far(n)
                                                      ? T(0)
                                                      : static_cast<T>(
                                                            static_cast<Unsigned<T>>(a) >> n);
                                         }),
                                         .hlo = "stablehlo.shift_right_logical",
                                         .cost = kElementwise});
const OpRules shift_right_arithmetic_rules({.name = "shift_right_arithmetic",
                                            .infer = same_shape_integer,
                                            .batch = elementwise,
                                            .vjp = no_gradient,
                                            .eval = binary([]<Integer T>(T a, T n) {
                                              using S = std::make_signed_t<T>;
                                              const S s = static_cast<S>(a);
                                              return static_cast<T>(too_far(n)
                                                                        ? (s < 0 ? S(-1) : S(0))
                                                                        : static_cast<S>(s >> n));
                                            }),
                                            .hlo = "stablehlo.shift_right_arithmetic",
                                            .cost = kElementwise});

const OpRules popcount_rules({.name = "popcount",
                              .infer = same_shape_integer,
                              .batch = elementwise,
                              .vjp = no_gradient,
                              .eval = unary([]<Integer T>(T a) {
                                return static_cast<T>(std::popcount(static_cast<Unsigned<T>>(a)));
                              }),
                              .hlo = "stablehlo.popcnt",
                              .cost = kElementwise});
const OpRules count_leading_zeros_rules({.name = "count_leading_zeros",
                                         .infer = same_shape_integer,
                                         .batch = elementwise,
                                         .vjp = no_gradient,
                                         .eval = unary([]<Integer T>(T a) {
                                           return static_cast<T>(
                                               std::countl_zero(static_cast<Unsigned<T>>(a)));
                                         }),
                                         .hlo = "stablehlo.count_leading_zeros",
                                         .cost = kElementwise});

}  // namespace

Tensor operator&(const Tensor& a, const Tensor& b) { return emit_broadcast(and_rules, a, b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return emit_broadcast(or_rules, a, b); }
Tensor operator^(const Tensor& a, const Tensor& b) { return emit_broadcast(xor_rules, a, b); }
Tensor operator~(const Tensor& x) { return emit(not_rules, {x}); }
Tensor operator!(const Tensor& x) {
  if (x.dtype() != DType::kPred)
    operand_error("not", "expected a predicate; ~ complements the bits of integers", {x});
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
