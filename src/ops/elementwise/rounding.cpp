#include "ops/elementwise/rounding.h"

#include <algorithm>

#include "ops/batching.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/ranges.h"
#include "ops/rules.h"
#include "ops/stablehlo.h"

namespace axle {
namespace {

using detail::Float;
using detail::Number;

std::vector<Type> pred_of_float(const OpNode& op) {
  return {Type{DType::kPred, same_float_type(op)[0].dims}};
}

std::vector<Type> infer_abs(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  return is_complex(x.dtype) ? std::vector<Type>{{real_dtype(x.dtype), x.dims}}
                             : same_type_numbers(op);
}

Values abs_vjp(X x, Y y, Ct g) {
  if (!is_complex(x[0].dtype())) return {select(x[0] >= 0, g[0], -g[0])};
  const Tensor scale = g[0] / select(equal(y[0], 0), 1, y[0]);
  return {complex(scale, zeros_like(scale)) * conj(x[0])};
}

// StableHLO's abs and sign take no unsigned numbers.
HloValues lower_abs(const OpNode& op, HloBuilder& b, const HloValues& x) {
  if (is_unsigned(x[0].type.dtype)) return x;
  return {b.one("stablehlo.abs", x, op.outputs[0])};
}
HloValues lower_sign(const OpNode&, HloBuilder& b, const HloValues& x) {
  if (!is_unsigned(x[0].type.dtype)) return {hlo_map(b, "sign", x)};
  return {hlo_map(b, "minimum", {x[0], hlo_splat_like(b, x[0], 1)})};
}

const OpRules abs_rules({.name = "abs",
                         .infer = infer_abs,
                         .batch = elementwise,
                         .vjp = abs_vjp,
                         .range = range_of_magnitude,
                         .eval = unary([]<detail::RealOrComplex T>(T x) {
                           if constexpr (detail::Integer<T>)
                             return x < 0 ? detail::wrapping(T(0), x,
                                                             [](auto a, auto b) { return a - b; })
                                          : x;
                           else
                             return std::abs(x);
                         }),
                         .hlo = lower_abs,
                         .cost = kElementwise});

const OpRules sign_rules({.name = "sign",
                          .infer = same_type_numbers,
                          .batch = elementwise,
                          .vjp = no_gradient,
                          .eval = unary([]<Number T>(T x) {
                            if constexpr (std::is_unsigned_v<T>)
                              return std::min(x, T(1));
                            else
                              return x > 0 ? T(1) : x < 0 ? T(-1) : x;
                          }),
                          .hlo = lower_sign,
                          .cost = kElementwise});

const OpRules floor_rules({.name = "floor",
                           .infer = same_float_type,
                           .batch = elementwise,
                           .vjp = no_gradient,
                           .eval = unary([](Float auto x) { return std::floor(x); }),
                           .hlo = "stablehlo.floor",
                           .cost = kElementwise});

const OpRules ceil_rules({.name = "ceil",
                          .infer = same_float_type,
                          .batch = elementwise,
                          .vjp = no_gradient,
                          .eval = unary([](Float auto x) { return std::ceil(x); }),
                          .hlo = "stablehlo.ceil",
                          .cost = kElementwise});

const OpRules round_nearest_even_rules({.name = "round_nearest_even",
                                        .infer = same_float_type,
                                        .batch = elementwise,
                                        .vjp = no_gradient,
                                        .eval = unary([](Float auto x) {
                                          return std::nearbyint(x);
                                        }),
                                        .hlo = "stablehlo.round_nearest_even",
                                        .cost = kElementwise});

const OpRules round_nearest_afz_rules({.name = "round_nearest_afz",
                                       .infer = same_float_type,
                                       .batch = elementwise,
                                       .vjp = no_gradient,
                                       .eval = unary([](Float auto x) { return std::round(x); }),
                                       .hlo = "stablehlo.round_nearest_afz",
                                       .cost = kElementwise});

const OpRules is_finite_rules({.name = "is_finite",
                               .infer = pred_of_float,
                               .batch = elementwise,
                               .vjp = no_gradient,
                               .eval = unary([](Float auto x) { return std::isfinite(x); }),
                               .hlo = "stablehlo.is_finite",
                               .cost = kElementwise});

}  // namespace

Tensor abs(const Tensor& x) { return emit(abs_rules, {x}); }
Tensor sign(const Tensor& x) { return emit(sign_rules, {x}); }
Tensor floor(const Tensor& x) { return emit(floor_rules, {x}); }
Tensor ceil(const Tensor& x) { return emit(ceil_rules, {x}); }
Tensor round_nearest_even(const Tensor& x) { return emit(round_nearest_even_rules, {x}); }
Tensor round_nearest_afz(const Tensor& x) { return emit(round_nearest_afz_rules, {x}); }
Tensor is_finite(const Tensor& x) { return emit(is_finite_rules, {x}); }
bool is_finite_check(const OpNode& op) { return op.rules == &is_finite_rules; }

}  // namespace axle
