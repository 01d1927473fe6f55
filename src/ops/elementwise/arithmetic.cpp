#include "ops/elementwise/arithmetic.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/create.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/broadcast.h"
#include "ops/ranges.h"
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

}  // namespace axle
