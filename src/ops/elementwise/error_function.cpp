#include "ops/elementwise/error_function.h"

#include "ops/batching.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/exponential.h"
#include "ops/rules.h"

namespace axle {
namespace {

using detail::Float;

constexpr double kSqrtPi = 1.77245385090551602730;

// Source: Giles, "Approximating the erfinv function", GPU Computing Gems 2, single precision.
// Evaluates two polynomials in w = -log(1 - x^2), one for the middle and one for the tails. XLA
// uses the same polynomials in f32, so that normal draws agree.
float erf_inv_f32(float x) {
  constexpr std::array kMiddle = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                                  -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                                  -0.00417768164f,  0.246640727f,    1.50140941f};
  constexpr std::array kTail = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                                -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                                0.00943887047f,   1.00167406f,     2.83297682f};
  if (std::fabs(x) == 1) return x * std::numeric_limits<float>::infinity();
  const float w = -std::log1p(-x * x);
  const bool middle = w < 5;
  const float t = middle ? w - 2.5f : std::sqrt(w) - 3;
  const auto& c = middle ? kMiddle : kTail;
  float p = c[0];
  for (size_t i = 1; i < c.size(); ++i) p = c[i] + p * t;
  return p * x;
}

// Newton's method with Halley's correction, started from the f32 value. Uses erfc near the ends,
// where erf is flat.
double erf_inv_f64(double x) {
  if (!(std::fabs(x) < 1))
    return x * (std::fabs(x) == 1 ? std::numeric_limits<double>::infinity() : std::nan(""));
  const double magnitude = std::fabs(x);
  // Closer to 1 than f32 resolves, the leading term of the tail is a good enough start.
  const double rest = 1 - magnitude;
  double y = rest > 1e-7 ? erf_inv_f32(static_cast<float>(magnitude))
                         : std::sqrt(-std::log(rest * kSqrtPi * 4));
  for (int i = 0; i < 4; ++i) {
    const double error = magnitude > 0.5 ? rest - std::erfc(y) : std::erf(y) - magnitude;
    const double step = error / (2 / kSqrtPi * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

const OpRules erf_rules(
    {.name = "erf",
     .infer = same_float_type,
     .batch = elementwise,
     .vjp = [](X x, Y, Ct g) { return Values{2 / kSqrtPi * (g[0] * exp(-square(x[0])))}; },
     .eval = unary([](Float auto x) { return std::erf(x); }),
     .hlo = "chlo.erf",
     .cost = kTranscendental});

// XLA cannot expand chlo.erfc of 8-bit floats.
HloValues lower_erfc(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const Type& own = op.outputs[0];
  if (size_bytes(own.dtype) > 1) return {b.one("chlo.erfc", x, own)};
  const Type wide{DType::kF32, own.dims};
  const HloValue y = b.one("chlo.erfc", {b.one("stablehlo.convert", x, wide)}, wide);
  return {b.one("stablehlo.convert", {y}, own)};
}

const OpRules erfc_rules(
    {.name = "erfc",
     .infer = same_float_type,
     .batch = elementwise,
     .vjp = [](X x, Y, Ct g) { return Values{-2 / kSqrtPi * (g[0] * exp(-square(x[0])))}; },
     .eval = unary([](Float auto x) { return std::erfc(x); }),
     .hlo = lower_erfc,
     .cost = kTranscendental});

const OpRules erf_inv_rules(
    {.name = "erf_inv",
     .infer = same_float_type,
     .batch = elementwise,
     .vjp = [](X, Y y, Ct g) { return Values{kSqrtPi / 2 * (g[0] * exp(square(y[0])))}; },
     .eval = unary([]<Float T>(T x) -> T {
       if constexpr (std::is_same_v<T, float>)
         return erf_inv_f32(x);
       else
         return erf_inv_f64(x);
     }),
     .hlo = "chlo.erf_inv",
     .cost = kTranscendental});

}  // namespace

Tensor erf(const Tensor& x) { return emit(erf_rules, {x}); }
Tensor erfc(const Tensor& x) { return emit(erfc_rules, {x}); }
Tensor erf_inv(const Tensor& x) { return emit(erf_inv_rules, {x}); }

}  // namespace axle
