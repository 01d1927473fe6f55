#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/rules.h"

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

namespace {

std::vector<Type> infer_nextafter(const OpNode& op) {
  const DType dtype = op.inputs[0].dtype();
  if (is_float(dtype) && size_bytes(dtype) < 2)
    shape_error(op, fmt::format("expected a float of 16 bits or more, got {}", name_of(dtype)));
  return same_float_type(op);
}

// Within one sign, the bits of floats ascend with their magnitude.
template <class Bits, class T>
T next(T from, T to) {
  using C = Computed<T>;
  const C a(from), b(to);
  if (a != a || b != b) return convert_element<T>(std::numeric_limits<double>::quiet_NaN());
  if (a == b) return to;
  if (a == 0) {
    const auto sign = static_cast<Bits>(Bits{b < 0} << (8 * sizeof(Bits) - 1));
    return std::bit_cast<T>(static_cast<Bits>(sign | 1));
  }
  const bool grows = (a < b) == (a > 0);
  return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(from) + (grows ? 1 : -1)));
}

void eval(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
          std::span<HostTensor> y) {
  dispatch(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (sizeof(T) > 1 && !std::is_integral_v<T>) {
      using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                      std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
      const auto from = x[0]->values<T>(), to = x[1]->values<T>();
      const auto out = y[0].values<T>();
      for (size_t i = 0; i < out.size(); ++i) out[i] = next<Bits>(from[i], to[i]);
    }
  });
}

const OpRules nextafter_rules({.name = "nextafter",
                               .infer = infer_nextafter,
                               .batch = elementwise,
                               .vjp = no_gradient,
                               .eval = eval,
                               .hlo = "chlo.next_after",
                               .cost = kElementwise});

}  // namespace

Tensor nextafter(const Tensor& from, const Tensor& to) {
  return emit_broadcast(nextafter_rules, from, to);
}

}  // namespace axle
