#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/rules.h"

namespace axle {
namespace {

using detail::Float;
using detail::Number;
using detail::RealOrComplex;
using detail::wrapping;

constexpr double kLog2 = 0.69314718055994530942;

const OpRules exp_rules({.name = "exp",
                         .infer = same_float_type,
                         .batch = elementwise,
                         .vjp = [](X, Y y, Ct g) { return Values{g[0] * y[0]}; },
                         .eval = unary([](Float auto x) { return std::exp(x); }),
                         .hlo = "stablehlo.exponential",
                         .cost = kTranscendental});

const OpRules exp2_rules(
    {.name = "exp2",
     .infer = same_float_type,
     .batch = elementwise,
     .vjp = [](X, Y y, Ct g) { return Values{kLog2 * (g[0] * y[0])}; },
     .eval = unary([](Float auto x) { return std::exp2(x); }),
     .hlo =
         [](const OpNode&, HloBuilder& b, const HloValues& x) {
           return HloValues{hlo_map(
               b, "exponential", {hlo_map(b, "multiply", {hlo_splat_like(b, x[0], kLog2), x[0]})})};
         },
     .cost = kTranscendental});

const OpRules expm1_rules({.name = "expm1",
                           .infer = same_float_type,
                           .batch = elementwise,
                           .vjp = [](X, Y y, Ct g) { return Values{g[0] * (y[0] + 1)}; },
                           .eval = unary([](Float auto x) { return std::expm1(x); }),
                           .hlo = "stablehlo.exponential_minus_one",
                           .cost = kTranscendental});

const OpRules log_rules({.name = "log",
                         .infer = same_float_type,
                         .batch = elementwise,
                         .vjp = [](X x, Y, Ct g) { return Values{g[0] / x[0]}; },
                         .eval = unary([](Float auto x) { return std::log(x); }),
                         .hlo = "stablehlo.log",
                         .cost = kTranscendental});

const OpRules log1p_rules({.name = "log1p",
                           .infer = same_float_type,
                           .batch = elementwise,
                           .vjp = [](X x, Y, Ct g) { return Values{g[0] / (x[0] + 1)}; },
                           .eval = unary([](Float auto x) { return std::log1p(x); }),
                           .hlo = "stablehlo.log_plus_one",
                           .cost = kTranscendental});

const OpRules sqrt_rules({.name = "sqrt",
                          .infer = same_float_type,
                          .batch = elementwise,
                          .vjp = [](X, Y y, Ct g) { return Values{g[0] * (0.5 / y[0])}; },
                          .eval = unary([](Float auto x) { return std::sqrt(x); }),
                          .hlo = "stablehlo.sqrt",
                          .cost = kTranscendental});

const OpRules rsqrt_rules({.name = "rsqrt",
                           .infer = same_float_type,
                           .batch = elementwise,
                           .vjp = [](X x, Y y,
                                     Ct g) { return Values{g[0] * (-0.5 * (y[0] / x[0]))}; },
                           .eval = unary([](Float auto x) { return 1 / std::sqrt(x); }),
                           .hlo = "stablehlo.rsqrt",
                           .cost = kTranscendental});

const OpRules cbrt_rules(
    {.name = "cbrt",
     .infer = same_float_type,
     .batch = elementwise,
     .vjp = [](X, Y y, Ct g) { return Values{g[0] * (1.0 / 3 * integer_pow(y[0], -2))}; },
     .eval = unary([](Float auto x) { return std::cbrt(x); }),
     .hlo = "stablehlo.cbrt",
     .cost = kTranscendental});

const OpRules square_rules({.name = "square",
                            .infer = same_type_real_or_complex,
                            .batch = elementwise,
                            .vjp = [](X x, Y, Ct g) { return Values{g[0] * (2 * x[0])}; },
                            .eval = unary([]<RealOrComplex T>(T x) {
                              return wrapping(x, x, [](auto a, auto b) { return a * b; });
                            }),
                            .hlo =
                                [](const OpNode&, HloBuilder& b, const HloValues& x) {
                                  return HloValues{hlo_map(b, "multiply", {x[0], x[0]})};
                                },
                            .cost = kElementwise});

const OpRules pow_rules({.name = "pow",
                         .infer = same_float_type,
                         .batch = elementwise,
                         .vjp =
                             [](X x, Y y, Ct g) {
                               const Tensor positive = select(equal(x[0], 0), 1, x[0]);
                               // Around 0^0 = 1 the formula gives 0 times infinity.
                               const Tensor is_one = equal(x[0], 0) & equal(x[1], 0);
                               const Tensor slope =
                                   select(is_one, 0, x[1] * pow(x[0], select(is_one, 1, x[1]) - 1));
                               return Values{g[0] * slope, g[0] * (log(positive) * y[0])};
                             },
                         .eval = binary([]<Float T>(T a, T b) { return std::pow(a, b); }),
                         .hlo = "stablehlo.power",
                         .cost = kTranscendental});

struct PowerAttributes : Attributes {
  explicit PowerAttributes(int64_t v) : n(v) {}
  int64_t n;
  std::string text() const override { return fmt::format("n = {}", n); }
};

// Beyond it powers are 0, 1 or infinite, and n - 1 of a gradient could overflow.
constexpr int64_t kMaxPower = int64_t{1} << 40;

std::vector<Type> infer_integer_pow(const OpNode& op) {
  const int64_t n = op.attrs<PowerAttributes>().n;
  if (n < -kMaxPower || n > kMaxPower)
    shape_error(op,
                fmt::format("expected a power from {} to {}, got {}", -kMaxPower, kMaxPower, n));
  const std::vector<Type> out = same_type_numbers(op);
  if (n < 0 && !is_float(op.inputs[0].dtype()))
    shape_error(op, fmt::format("expected a power of at least 0 for integers, got {}", n));
  return out;
}

// Returns x^n for n > 0, with products computed by `times`.
template <class V, class F>
V power(V x, int64_t n, F times) {
  std::optional<V> product;
  for (; n > 0; n >>= 1) {
    if (n & 1) product = product ? times(*product, x) : x;
    if (n > 1) x = times(x, x);
  }
  return *product;
}

void eval_integer_pow(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                      std::span<HostTensor> y) {
  const int64_t n = op.attrs<PowerAttributes>().n;
  detail::map_unary(*x[0], y[0], [n]<Number T>(T v) -> T {
    if (n == 0) return 1;
    const T product = power(v, std::abs(n), [](T a, T b) {
      return wrapping(a, b, [](auto p, auto q) { return p * q; });
    });
    return n < 0 ? 1 / product : product;
  });
}

HloValues lower_integer_pow(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const int64_t n = op.attrs<PowerAttributes>().n;
  const HloValue one = hlo_splat_like(b, x[0], 1);
  if (n == 0) return {one};
  const HloValue product = power(x[0], std::abs(n), [&](const HloValue& p, const HloValue& q) {
    return hlo_map(b, "multiply", {p, q});
  });
  return {n < 0 ? hlo_map(b, "divide", {one, product}) : product};
}

const OpRules integer_pow_rules({.name = "integer_pow",
                                 .infer = infer_integer_pow,
                                 .batch = elementwise,
                                 .vjp =
                                     [](X x, Y, Ct g) {
                                       const int64_t n = x.attrs<PowerAttributes>().n;
                                       if (n == 0) return Values{zeros_like(g[0])};
                                       return Values{g[0] * (static_cast<double>(n) *
                                                             integer_pow(x[0], n - 1))};
                                     },
                                 .eval = eval_integer_pow,
                                 .hlo = lower_integer_pow,
                                 .cost = kElementwise});

const OpRules logistic_rules({.name = "logistic",
                              .infer = same_float_type,
                              .batch = elementwise,
                              .vjp = [](X, Y y,
                                        Ct g) { return Values{g[0] * (y[0] * (1 - y[0]))}; },
                              .eval = unary([](Float auto x) { return 1 / (1 + std::exp(-x)); }),
                              .hlo = "stablehlo.logistic",
                              .cost = kTranscendental});

}  // namespace

Tensor exp(const Tensor& x) { return emit(exp_rules, {x}); }
Tensor exp2(const Tensor& x) { return emit(exp2_rules, {x}); }
Tensor expm1(const Tensor& x) { return emit(expm1_rules, {x}); }
Tensor logistic(const Tensor& x) { return emit(logistic_rules, {x}); }
Tensor log(const Tensor& x) { return emit(log_rules, {x}); }
Tensor log2(const Tensor& x) { return log(x) / kLog2; }
Tensor log1p(const Tensor& x) { return emit(log1p_rules, {x}); }
Tensor sqrt(const Tensor& x) { return emit(sqrt_rules, {x}); }
Tensor rsqrt(const Tensor& x) { return emit(rsqrt_rules, {x}); }
Tensor cbrt(const Tensor& x) { return emit(cbrt_rules, {x}); }
Tensor square(const Tensor& x) { return emit(square_rules, {x}); }
Tensor pow(const Tensor& x, const Tensor& y) { return emit_broadcast(pow_rules, x, y); }
Tensor integer_pow(const Tensor& x, int64_t n) {
  return n == 1 ? x : emit(integer_pow_rules, {x}, PowerAttributes(n));
}

namespace {

using detail::Float;

const OpRules sin_rules({.name = "sin",
                         .infer = same_float_type,
                         .batch = elementwise,
                         .vjp = [](X x, Y, Ct g) { return Values{g[0] * cos(x[0])}; },
                         .eval = unary([](Float auto x) { return std::sin(x); }),
                         .hlo = "stablehlo.sine",
                         .cost = kTranscendental});

const OpRules cos_rules({.name = "cos",
                         .infer = same_float_type,
                         .batch = elementwise,
                         .vjp = [](X x, Y, Ct g) { return Values{-(g[0] * sin(x[0]))}; },
                         .eval = unary([](Float auto x) { return std::cos(x); }),
                         .hlo = "stablehlo.cosine",
                         .cost = kTranscendental});

const OpRules tan_rules({.name = "tan",
                         .infer = same_float_type,
                         .batch = elementwise,
                         .vjp = [](X, Y y, Ct g) { return Values{g[0] * (1 + square(y[0]))}; },
                         .eval = unary([](Float auto x) { return std::tan(x); }),
                         .hlo = "stablehlo.tan",
                         .cost = kTranscendental});

const OpRules atan2_rules({.name = "atan2",
                           .infer = same_float_type,
                           .batch = elementwise,
                           .vjp =
                               [](X x, Y, Ct g) {
                                 const Tensor norm = square(x[0]) + square(x[1]);
                                 return Values{g[0] * (x[1] / norm), g[0] * (-x[0] / norm)};
                               },
                           .eval = binary([]<Float T>(T y, T x) { return std::atan2(y, x); }),
                           .hlo = "stablehlo.atan2",
                           .cost = kTranscendental});

const OpRules tanh_rules({.name = "tanh",
                          .infer = same_float_type,
                          .batch = elementwise,
                          .vjp = [](X, Y y,
                                    Ct g) { return Values{(g[0] + g[0] * y[0]) * (1 - y[0])}; },
                          .eval = unary([](Float auto x) { return std::tanh(x); }),
                          .hlo = "stablehlo.tanh",
                          .cost = kTranscendental});

// One op instead of 1 / (1 + exp(-x)): XLA expands it to this formula if the device has no better
// one.
}  // namespace

Tensor sin(const Tensor& x) { return emit(sin_rules, {x}); }
Tensor cos(const Tensor& x) { return emit(cos_rules, {x}); }
Tensor tan(const Tensor& x) { return emit(tan_rules, {x}); }
Tensor atan2(const Tensor& y, const Tensor& x) { return emit_broadcast(atan2_rules, y, x); }
Tensor tanh(const Tensor& x) { return emit(tanh_rules, {x}); }

namespace {

std::vector<Type> infer_part(const OpNode& op) {
  const Type& z = op.inputs[0].type();
  if (!is_complex(z.dtype))
    shape_error(op, fmt::format("expected complex numbers, got {}", name_of(z.dtype)));
  return {{real_dtype(z.dtype), z.dims}};
}

std::vector<Type> infer_complex(const OpNode& op) {
  const Type part = same_type(op)[0];
  if (part.dtype != DType::kF32 && part.dtype != DType::kF64) {
    shape_error(op, fmt::format("expected parts of f32 or f64, got {}; convert with astype",
                                name_of(part.dtype)));
  }
  return {{part.dtype == DType::kF64 ? DType::kC128 : DType::kC64, part.dims}};
}

const OpRules real_rules({.name = "real",
                          .infer = infer_part,
                          .batch = elementwise,
                          .vjp = [](X, Y, Ct g) { return Values{complex(g[0], zeros_like(g[0]))}; },
                          .eval = unary([]<class T>(std::complex<T> z) { return z.real(); }),
                          .hlo = "stablehlo.real",
                          .cost = kNoFlops});

const OpRules imag_rules({.name = "imag",
                          .infer = infer_part,
                          .batch = elementwise,
                          .vjp = [](X, Y,
                                    Ct g) { return Values{complex(zeros_like(g[0]), -g[0])}; },
                          .eval = unary([]<class T>(std::complex<T> z) { return z.imag(); }),
                          .hlo = "stablehlo.imag",
                          .cost = kNoFlops});

const OpRules complex_rules({.name = "complex",
                             .infer = infer_complex,
                             .batch = elementwise,
                             .vjp =
                                 [](X, Y, Ct g) {
                                   return Values{real(g[0]), -imag(g[0])};
                                 },
                             .eval = binary([](detail::Float auto re, detail::Float auto im) {
                               return std::complex(re, im);
                             }),
                             .hlo = "stablehlo.complex",
                             .cost = kNoFlops});

}  // namespace

Tensor complex(const Tensor& real, const Tensor& imag) {
  return emit_broadcast(complex_rules, real, imag);
}
Tensor real(const Tensor& z) { return emit(real_rules, {z}); }
Tensor imag(const Tensor& z) { return emit(imag_rules, {z}); }
Tensor conj(const Tensor& z) { return complex(real(z), -imag(z)); }

}  // namespace axle
