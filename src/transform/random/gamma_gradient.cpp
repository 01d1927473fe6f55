#include "transform/random/gamma_gradient.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/elementwise/special_functions.h"
#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"
#include "transform/control_flow/while_loop.h"

namespace axle::random {
namespace {

constexpr int kMaxTerms = 2000;

bool is_f64(const Tensor& x) { return x.dtype() == DType::kF64; }
double epsilon_of(const Tensor& x) {
  return is_f64(x) ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

// Runs `step` until no element goes on. The carry is (number of steps, who goes on, rest..).
Values iterated(const WhileBody& step, const Tensor& like, const Values& rest) {
  Values init{scalar(0, DType::kI32), ones(like.shape(), DType::kPred)};
  init.insert(init.end(), rest.begin(), rest.end());
  return while_loop(
      [](const Values& carry) {
        return (carry[0] < kMaxTerms) & reduce_or(carry[1], all_axes(carry[1]));
      },
      [&](const Values& carry) {
        Values next = step(carry);
        // The sums of an element that has converged stay: more terms would only add rounding.
        for (size_t i = 1; i < next.size(); ++i) next[i] = select(carry[1], next[i], carry[i]);
        return next;
      },
      init);
}

// Returns dy/da by the series P = x^a exp(-x) / Gamma(a + 1) * sum of c_n, where c_0 = 1 and c_n =
// c_{n-1} x / (a + n).
Tensor by_series(const Tensor& a, const Tensor& y, const Tensor& x) {
  const Tensor one = ones(a.shape(), a.dtype()), zero = zeros(a.shape(), a.dtype());
  const double epsilon = epsilon_of(a);
  const Values end = iterated(
      [&](const Values& v) {
        const Tensor n = v[2] + 1, ratio = x / n;
        const Tensor dc = ratio * (v[4] - v[3] / n), c = v[3] * ratio;
        const Tensor sum = v[5] + c, dsum = v[6] + dc;
        const Tensor goes_on = (c > epsilon * sum) | (abs(dc) > epsilon * abs(dsum));
        return Values{v[0] + 1, goes_on, n, c, dc, sum, dsum};
      },
      a, {a, one, zero, one, zero});
  return -((y - digamma(a + 1)) * end[5] + end[6]) / a;
}

// Returns dy/da by the continued fraction 1 - P = x^a exp(-x) / Gamma(a) * p_n / q_n. Both parts of
// the fraction obey one recurrence: r_n = (x + 2 - a + 2n) r_{n-1} - (n + 1 - a) n r_{n-2}.
Tensor by_fraction(const Tensor& a, const Tensor& y, const Tensor& x) {
  const Tensor one = ones(a.shape(), a.dtype()), zero = zeros(a.shape(), a.dtype());
  const double epsilon = epsilon_of(a);
  enum { kSteps, kGoesOn, kP1, kP2, kQ1, kQ2, kDp1, kDp2, kDq1, kDq2, kValue, kDerivative };
  const Tensor q1 = (x + 2 - a) * x, value = (x + 1) / q1;
  const Values end = iterated(
      [&](const Values& v) {
        const Tensor n = astype(v[kSteps] + 1, a.dtype());
        const Tensor z = x + 2 - a + 2 * n, u = (n + 1 - a) * n;
        const auto next = [&](int at) { return v[at] * z - v[at + 1] * u; };
        const auto next_derivative = [&](int at, int of) {
          return v[at] * z - v[of] - v[at + 1] * u + v[of + 1] * n;
        };
        const Tensor p = next(kP1), q = next(kQ1);
        const Tensor dp = next_derivative(kDp1, kP1), dq = next_derivative(kDq1, kQ1);
        const Tensor ratio = p / q, derivative = (dp - ratio * dq) / q;
        const Tensor goes_on =
            (abs(ratio - v[kValue]) > epsilon * abs(ratio)) |
            (abs(derivative - v[kDerivative]) > epsilon * (abs(derivative) + abs(ratio)));
        // Only the ratios matter, so that numbers that grow too large are scaled down.
        const Tensor scale = select(abs(p) > 1 / epsilon, full_like(p, epsilon), 1);
        return Values{v[kSteps] + 1, goes_on,         p * scale,  v[kP1] * scale,
                      q * scale,     v[kQ1] * scale,  dp * scale, v[kDp1] * scale,
                      dq * scale,    v[kDq1] * scale, ratio,      derivative};
      },
      a, {x + 1, one, q1, x, zero, zero, -x, zero, value, x * value / q1});
  return (y - digamma(a)) * end[kValue] + end[kDerivative];
}

// Returns dx/da for large a, where x = a + sqrt(a) w(z): w is the Cornish-Fisher expansion in
// powers of e = 1 / sqrt(a), and z is normal.
Tensor by_expansion(const Tensor& a, const Tensor& x) {
  const Tensor e = 1 / sqrt(a), w = (x - a) * e;
  const auto terms = [](const Tensor& z) {
    const Tensor z2 = z * z;
    return Values{(z2 - 1) / 3, z * (z2 - 7) / 36, -(z2 * (3 * z2 + 7) - 16) / 810,
                  z * (z2 * (9 * z2 + 256) - 433) / 38880};
  };
  const auto slopes = [](const Tensor& z) {
    const Tensor z2 = z * z;
    return Values{2 * z / 3, (3 * z2 - 7) / 36, -z * (12 * z2 + 14) / 810,
                  (z2 * (45 * z2 + 768) - 433) / 38880};
  };
  const auto sum = [&](const Tensor& first, const Values& c) {
    return first + e * (c[0] + e * (c[1] + e * (c[2] + e * c[3])));
  };
  Tensor z = w;
  for (int newton = 0; newton < 3; ++newton)
    z = z - (sum(z, terms(z)) - w) / sum(full_like(z, 1), slopes(z));
  // The term of e^k is one of a^((1 - k) / 2).
  const Values c = terms(z);
  return 1 + e * (z / 2 - e * e * (c[1] / 2 + e * (c[2] + e * 1.5 * c[3])));
}

// Returns dy/da for y = log(x). All have one shape and are f32 or f64.
Tensor log_gradient(const Tensor& a, const Tensor& y, const Tensor& x) {
  const Tensor is_large = a > (is_f64(a) ? 1e4 : 100), is_right = (x > 1) & (x > a);
  // Each way gets numbers that end it at once where another one counts.
  const Tensor in_series = (a > 0) & ~is_large & ~is_right;
  const Tensor series =
      by_series(select(in_series, a, 1), select(in_series, y, 0), select(in_series, x, 0));
  const Tensor in_fraction = (a > 0) & ~is_large & is_right;
  const Tensor fraction = by_fraction(select(in_fraction, a, 1), select(in_fraction, y, 0),
                                      select(in_fraction, x, 1e4));
  const Tensor expansion =
      by_expansion(select(is_large, a, 1e6), select(is_large, x, 1e6)) / select(is_large, x, 1);
  return select(is_large, expansion, select(is_right, fraction, series));
}

// Calls fn(a, x) with operands of one shape, in f32 or f64.
Tensor in_wide_dtype(std::string_view op, const Tensor& a, const Tensor& x,
                     const std::function<Tensor(const Tensor& a, const Tensor& x)>& fn) {
  if (!is_float(a.dtype()) || x.dtype() != a.dtype()) {
    shape_error(op,
                fmt::format("expected floats of one dtype, got {} and {}", name_of(a.dtype()),
                            name_of(x.dtype())),
                {a, x});
  }
  const DType wide = wide_dtype(a.dtype());
  const auto [p, q] = broadcast_together(astype(a, wide), astype(x, wide), op);
  const Tensor y = select(p > 0, fn(p, q), std::numeric_limits<double>::quiet_NaN());
  return astype(y, a.dtype());
}

}  // namespace

Tensor gamma_gradient(const Tensor& a, const Tensor& x) {
  return in_wide_dtype("random::gamma_gradient", a, x, [](const Tensor& p, const Tensor& q) {
    const Tensor positive = select(q > 0, q, 1);
    const Tensor dx = positive * log_gradient(p, log(positive), positive);
    return select(q > 0, dx, select(equal(q, 0), 0, full_like(q, std::nan(""))));
  });
}

Tensor loggamma_gradient(const Tensor& a, const Tensor& y) {
  return in_wide_dtype("random::loggamma_gradient", a, y,
                       [](const Tensor& p, const Tensor& q) { return log_gradient(p, q, exp(q)); });
}

}  // namespace axle::random
