#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/elementwise/elementwise.h"
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

namespace {

using detail::Float;

// The series of both functions at infinity are cut off after the term of B_14. Below this bound
// they are not accurate to the last bits of a double, and a recurrence leads above it.
constexpr double kSeriesFrom = 12;
// B_2 .. B_14.
constexpr double kBernoulli[] = {1. / 6,  -1. / 30,     1. / 42, -1. / 30,
                                 5. / 66, -691. / 2730, 7. / 6};

// Source: NIST Digital Library of Mathematical Functions, 5.4.14, 5.5.2, 5.5.4 and 5.11.2.
double digamma_at(double x) {
  if (x <= 0) {
    // XLA's choice: the limit from above at 0, and NaN at the other poles.
    if (x == 0) return -std::numeric_limits<double>::infinity();
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    return digamma_at(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * x);
  }
  double sum = 0;
  for (; x < kSeriesFrom; ++x) sum -= 1 / x;
  sum += std::log(x) - 1 / (2 * x);
  double power = 1;
  for (int k = 1; const double bernoulli : kBernoulli) {
    power /= x * x;
    sum -= bernoulli / (2 * k++) * power;
  }
  return sum;
}

// Returns order! times the sum of (x + i)^-(order + 1), with the sign of the derivative: the sum
// term by term up to a bound, and Euler-Maclaurin's formula from there.
// Source: NIST Digital Library of Mathematical Functions, 5.15.1 and 2.10.1.
double polygamma_at(int64_t order, double x) {
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(order);
  const double from = kSeriesFrom + n;
  double sum = 0;
  for (; x < from; ++x) sum += std::pow(x, -n - 1);
  sum += std::pow(x, -n) / n + std::pow(x, -n - 1) / 2;
  double term = std::pow(x, -n - 2) * (n + 1) / 2;  // s (s+1) .. (s+2k-2) / (2k)! x^(1-s-2k)
  for (int k = 1; const double bernoulli : kBernoulli) {
    sum += bernoulli * term;
    term *= (n + 2 * k) * (n + 2 * k + 1) / ((2 * k + 1) * (2 * k + 2) * x * x);
    ++k;
  }
  return (order % 2 == 1 ? 1 : -1) * std::tgamma(n + 1) * sum;
}

// Returns the derivative of digamma, by its reflection for x <= 0. Each branch gets arguments that
// are finite, so that the gradient of the other branch has no NaN.
Tensor trigamma(const Tensor& x) {
  const Tensor is_positive = x > 0;
  const Tensor y = polygamma(1, select(is_positive, x, 1 - x));
  const Tensor reflection =
      square(std::numbers::pi / sin(std::numbers::pi * select(is_positive, 0.5, x)));
  return select(is_positive, y, reflection - y);
}

struct OrderAttributes : Attributes {
  explicit OrderAttributes(int64_t n) : order(n) {}
  int64_t order;
  std::string text() const override { return fmt::format("order = {}", order); }
};

int64_t order_of(const OpNode& op) { return op.attrs<OrderAttributes>().order; }

void eval_polygamma(const EvalOptions& options, const OpNode& op,
                    std::span<const HostTensor* const> x, std::span<HostTensor> y) {
  unary([order = order_of(op)](Float auto v) {
    return static_cast<decltype(v)>(polygamma_at(order, v));
  })(options, op, x, y);
}

// The platforms' functions differ for x <= 0, where they are not accurate.
HloValues lower_polygamma(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const HloValue y =
      b.one("chlo.polygamma", {hlo_splat_like(b, x[0], order_of(op)), x[0]}, op.outputs[0]);
  const HloValue nan = hlo_splat_like(b, x[0], std::numeric_limits<double>::quiet_NaN());
  // At infinity they give NaN instead of the limit.
  const HloValue infinity = hlo_splat_like(b, x[0], std::numeric_limits<double>::infinity());
  const HloValue limit = hlo_splat_like(b, x[0], order_of(op) % 2 == 1 ? 0.0 : -0.0);
  const HloValue bounded = hlo_select(b, hlo_compare(b, "EQ", x[0], infinity), limit, y);
  return {hlo_select(b, hlo_compare(b, "GT", x[0], hlo_splat_like(b, x[0], 0)), bounded, nan)};
}

const OpRules lgamma_rules({.name = "lgamma",
                            .infer = same_float_type,
                            .batch = elementwise,
                            .vjp = [](X x, Y, Ct g) { return Values{g[0] * digamma(x[0])}; },
                            .eval = unary([](Float auto x) {
                              int sign =
                                  0;  // lgamma_r: the sign of plain lgamma is a global variable
                              return static_cast<decltype(x)>(
                                  lgamma_r(static_cast<double>(x), &sign));
                            }),
                            .hlo = "chlo.lgamma",
                            .cost = kTranscendental});

const OpRules digamma_rules({.name = "digamma",
                             .infer = same_float_type,
                             .batch = elementwise,
                             .vjp = [](X x, Y, Ct g) { return Values{g[0] * trigamma(x[0])}; },
                             .eval = unary([](Float auto x) {
                               return static_cast<decltype(x)>(digamma_at(x));
                             }),
                             .hlo = "chlo.digamma",
                             .cost = kTranscendental});

const OpRules polygamma_rules(
    {.name = "polygamma",
     .infer = same_float_type,
     .batch = elementwise,
     .vjp = [](X x, Y, Ct g) { return Values{g[0] * polygamma(order_of(x.op()) + 1, x[0])}; },
     .eval = eval_polygamma,
     .hlo = lower_polygamma,
     .cost = kTranscendental});

}  // namespace

Tensor lgamma(const Tensor& x) { return emit(lgamma_rules, {x}); }
Tensor digamma(const Tensor& x) { return emit(digamma_rules, {x}); }

Tensor polygamma(int64_t order, const Tensor& x) {
  if (order < 1)
    shape_error("polygamma", fmt::format("expected order 1 or more, got {}", order), {x});
  return emit(polygamma_rules, {x}, OrderAttributes(order));
}

}  // namespace axle
