// Numbers of JAX and finite differences of the distribution function.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "testing/error_without_lines.h"
#include "testing/op_test.h"
#include "transform/random/samplers.h"

namespace axle {
namespace {

HostTensor gradient(const HostTensor& a, const HostTensor& x) {
  return testing::run([](const Values& v) { return random::gamma_gradient(v[0], v[1]); }, {a, x});
}

HostTensor log_gradient(const HostTensor& a, const HostTensor& y) {
  return testing::run([](const Values& v) { return random::loggamma_gradient(v[0], v[1]); },
                      {a, y});
}

// The probability of gamma numbers below x, by its series.
double probability(double a, double x) {
  double term = std::exp(a * std::log(x) - x - std::lgamma(a + 1)), sum = term;
  for (int n = 1; n < 2000; ++n) sum += term *= x / (a + n);
  return sum;
}

double density(double a, double x) { return std::exp((a - 1) * std::log(x) - x - std::lgamma(a)); }

// Around each bound between two ways to compute it.
const std::vector<double> kParameters = {0.1, 0.1, 0.7, 0.7, 3,   3,   3,
                                         50,  50,  99,  99,  101, 101, 150};
const std::vector<double> kNumbers = {1e-6, 2.5, 0.99, 1.01, 1,  2.99, 9,
                                      40,   62,  98,   120,  88, 103,  140};

TEST(GammaGradient, IsTheFiniteDifferenceAtOneProbability) {
  const auto count = static_cast<int64_t>(kNumbers.size());
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const HostTensor a = HostTensor({count}, std::span(kParameters)).astype(dtype),
                     x = HostTensor({count}, std::span(kNumbers)).astype(dtype);
    const HostTensor dx = gradient(a, x);
    for (int64_t i = 0; i < count; ++i) {
      const double p = a.at(i), q = x.at(i), h = 1e-4 * p;
      const double slope = (probability(p + h, q) - probability(p - h, q)) / (2 * h);
      const double expected = -slope / density(p, q);
      EXPECT_NEAR(dx.at(i), expected, (dtype == DType::kF64 ? 1e-6 : 2e-5) * expected)
          << "a = " << p << ", x = " << q;
    }
  }
}

// lax.random_gamma_grad of JAX 0.10.2, in f64. Operands are numbers of f32.
TEST(GammaGradient, ValuesAreThoseOfJax) {
  const std::vector<double> parameters = {0.1f, 0.1f, 0.7f, 3., 3., 50., 99., 150., 5000.},
                            numbers = {1e-6f, 2.5, 0.2f, 1., 9., 40., 120., 140., 5100.};
  const HostTensor a({9}, std::span(parameters)), x({9}, std::span(numbers));
  const HostTensor dx = gradient(a, x),
                   small = gradient(a.astype(DType::kF32), x.astype(DType::kF32));
  const double expected[] = {0.00013391768389625793, 9.024480456653471,  0.607648751274087,
                             0.5787730491540525,     1.7397554120638798, 0.8955497027460723,
                             1.1011183280764198,     0.9669739406065978, 1.0099676568119413};
  for (int64_t i = 0; i < dx.size(); ++i) {
    EXPECT_NEAR(dx.at(i), expected[i], 1e-9 * expected[i]) << "at " << i;
    EXPECT_NEAR(small.at(i), expected[i], 2e-5 * expected[i]) << "at " << i;
  }
}

TEST(GammaGradient, TheGradientOfALogarithmIsDividedByTheNumber) {
  const HostTensor a({3}, {0.3, 2., 30.}), x({3}, {0.5, 3., 25.});
  HostTensor y(x.type());
  for (size_t i = 0; i < 3; ++i) y.values<double>()[i] = std::log(x.values<double>()[i]);
  const HostTensor dx = gradient(a, x), dy = log_gradient(a, y);
  for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(dy.at(i), dx.at(i) / x.at(i), 1e-12);
  // Where P is x^a / Gamma(a + 1), the logarithm is log(P Gamma(a + 1)) / a, whose derivative is
  // (digamma(a + 1) - y) / a.
  const double digamma = -0.5772156649 + 0.001 * 1.6449340668;
  const double expected = (digamma + 537) / 0.001;
  EXPECT_NEAR(log_gradient(HostTensor({1}, {0.001f}), HostTensor({1}, {-537.f})).at(0), expected,
              1e-5 * expected);
}

TEST(GammaGradient, TheGradientAtOtherNumbersIsZeroOrNaN) {
  const HostTensor dx =
      gradient(HostTensor({4}, {2.f, -1.f, 2.f, 0.f}), HostTensor({4}, {0.f, 1.f, -1.f, 1.f}));
  EXPECT_EQ(dx.at(0), 0);
  for (int64_t i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(dx.at(i))) << "at " << i;
}

TEST(GammaGradient, BroadcastsAndKeepsTheDtype) {
  const HostTensor a = HostTensor({2, 1}, {0.5f, 2.f}).astype(DType::kBF16),
                   x = HostTensor({3}, {0.25f, 1.f, 4.f}).astype(DType::kBF16);
  const HostTensor dx = gradient(a, x);
  EXPECT_EQ(dx.type(), (Type{DType::kBF16, {2, 3}}));
  for (int64_t i = 0; i < 6; ++i) {
    const auto scalar_at = [](const HostTensor& t, int64_t at) {
      return HostTensor::scalar(static_cast<float>(t.at(at)));
    };
    const double expected = gradient(scalar_at(a, i / 3), scalar_at(x, i % 3)).at(0);
    EXPECT_NEAR(dx.at(i), expected, 0x1p-8 * expected);
  }
}

TEST(GammaGradient, TakesFloatsOfOneDtype) {
  Region region;
  const TraceScope scope(region);
  EXPECT_EQ(error_without_lines<ShapeError>(
                [] { random::gamma_gradient(scalar(1), scalar(1, DType::kF64)); }),
            "the top level: random::gamma_gradient: expected floats of one dtype, got f32 and f64; "
            "operands: f32[] of the top level (full), f64[] of the top level (full)");
}

}  // namespace
}  // namespace axle
